"""Run checks on the event loop where possible, otherwise through Django, as a server does."""

import pytest

from accounts.models import Account
from licensing.content.models import Content
from tests import factories
from tests.gateway.conftest import way  # noqa: F401 - a fixture


@pytest.fixture
def item(account: Account) -> Content:
    return factories.content(account, policy_id=factories.policy(account).pk)

"""An item with a policy, unless a test module has its own."""

import pytest

from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture


@pytest.fixture
def policy(account):
    return factories.policy(account)


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, external_id="a-1", source="https://example.com/a")

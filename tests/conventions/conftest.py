import pytest

from accounts.models import Account
from tests.clock import clock  # noqa: F401 - a fixture
from tests.conventions.endpoints import make_resources


@pytest.fixture
def ids(account: Account) -> dict[str, str]:
    """The ids of the account's own resources."""
    return make_resources(account)

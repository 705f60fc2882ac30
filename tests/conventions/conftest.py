import pytest

from accounts.models import Account
from tests.clock import clock  # noqa: F401 - a fixture
from tests.conventions.endpoints import WRITES, Resources, make_resources


@pytest.fixture
def ids(request: pytest.FixtureRequest, account: Account) -> dict[str, str]:
    """The ids of the account's own resources. Where a test is about an endpoint that writes, there are those alone
    that it names: to make all of them takes longer than most tests."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    method = str(parameters.get("endpoint", "")).partition(" ")[0]
    return Resources(account) if method in WRITES else make_resources(account)

import pytest

from accounts.models import Account
from tests.clock import clock  # noqa: F401 - a fixture
from tests.conventions.endpoints import Resources, make_resources


@pytest.fixture
def ids(request: pytest.FixtureRequest, account: Account) -> dict[str, str]:
    """The ids of the account's own resources. Where a test is about an endpoint that writes, there are those alone
    that it names: to make all of them takes longer than most tests."""
    endpoint = request.node.callspec.params.get("endpoint") if hasattr(request.node, "callspec") else None
    return make_resources(account) if endpoint is None or endpoint.method == "GET" else Resources(account)

import pytest

from accounts.models import Account
from tests.clock import clock  # noqa: F401 - a fixture
from tests.conventions.endpoints import ENDPOINTS, WRITES, Resources, make_resources


@pytest.fixture
def ids(request: pytest.FixtureRequest, account: Account) -> dict[str, str]:
    """The ids of the account's own resources. Where a test is about an endpoint that writes, there are those alone
    that it names: to make all of them takes longer than most tests."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    [sample] = [one for one in ENDPOINTS if str(one) == str(parameters.get("endpoint"))] or [None]
    if sample is None or sample.method not in WRITES:
        return make_resources(account)
    made = Resources(account)
    sample.filled(made)  # now: what a test notes before it sends the request has them
    return made

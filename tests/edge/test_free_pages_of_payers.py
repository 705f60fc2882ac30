import pytest

from tests import factories
from tests.edge.asking import LICENSED, READERS

PREMIUM = LICENSED, factories.DENY_ALL


@pytest.fixture
def charged(question):
    """Return what a visitor of org_acme is charged for a page, after its status."""

    def charged(path):
        reply = question(path, x_licensing_requester="org_acme")
        return reply.status, reply.headers.get("crawler-charged")

    return charged


@pytest.fixture
def policies(account):
    """Policy ids of /premium/* and of /open/*, which everybody may read."""
    made = {"/premium/*": factories.policy(account, *PREMIUM), "/open/*": factories.policy(account, READERS)}
    factories.site(account, made, host="pub.example")
    return {pattern: policy.pk for pattern, policy in made.items()}


@pytest.mark.usefixtures("policies")
def test_a_licence_for_everything_is_charged_for_open_pages_too(charged, account):
    factories.license(account, per_access="0.05")
    paid, free = (200, "USD 0.05"), (200, None)
    assert [charged(path) for path in ("/premium/a", "/open/a", "/about")] == [paid, paid, free]


@pytest.mark.parametrize("credit", ["0.05", "0.01"])
def test_a_licence_for_the_pages_that_need_one_leaves_open_pages_free(charged, account, policies, credit):
    factories.license(account, per_access="0.05", policy_ids=[policies["/premium/*"]])
    factories.wallet(account, amount=credit, requester_id="org_acme")
    assert charged("/premium/a") == ((200, "USD 0.05") if credit == "0.05" else (402, None))
    assert [charged(path) for path in ("/open/a", "/about")] == [(200, None)] * 2

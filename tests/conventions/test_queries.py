import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from licensing.access.lookup.pages import compiled_policies
from tests import factories
from tests.conventions.endpoints import each_list, each_read
from tests.conventions.listed import grow

MOST = 5  # the key, its last use, the count, the rows, and one more
# Edge reports read the time until which visits are counted, and each table once.
# Statements look for fees and for changes of wallets that are due, and for a closed statement before they add one up.
# Charges of the ledger show what was refunded of them. A proxy's file also needs the site's rules, its items, and the
# policies of both. The site remembers the download.
MOST_OF_REPORTS = {
    "/v1/analytics/pages": 6,
    "/v1/analytics/visitors": 6,
    "/v1/analytics/crawlers": 8,
    "/v1/revenue": 6,
    "/v1/statements": 6,
    "/v1/statements/{statement}": 6,
    "/v1/statements/{statement}/lines": 7,
    "/v1/statements/{paidStatement}/payments": 6,
    "/v1/sites/{site}/proxy-config": 8,
}


@pytest.fixture
def forgetful():
    """Return a function that clears the cache of compiled policies, as a restart does."""
    return compiled_policies.cached.clear


def queries_of(api, path, **query):
    with CaptureQueriesContext(connection) as captured:
        assert api.get(path, **query).status == 200
    around = ("SAVEPOINT", "RELEASE SAVEPOINT")  # of a count, within the test's own transaction
    return [one["sql"] for one in captured.captured_queries if not one["sql"].startswith(around)]


@each_read()
def test_a_retrieval_makes_few_queries(api, ids, endpoint):
    assert len(queries_of(api, endpoint.address(ids))) <= MOST_OF_REPORTS.get(endpoint.path, MOST)


@each_list()
def test_a_list_makes_as_many_queries_for_many_rows_as_for_one(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 12)
    api.get(path)  # notes the use of the key
    few, many = queries_of(api, path, limit=1), queries_of(api, path, limit=100)
    assert len(few) <= MOST_OF_REPORTS.get(endpoint.path, MOST)
    keys = 1 if endpoint.path == "/v1/audit" else 0  # of customers, whom the newest entry does not name
    assert len(many) <= len(few) + keys + 1  # a long page is read in two steps: the first rows say how many fit


def test_embedded_policies_cost_one_query_for_all_of_a_page(api, account):
    for _ in range(5):
        factories.content(account, policy_id=factories.policy(account).pk)
    api.get("/v1/content")  # notes the use of the key
    plain, expanded = queries_of(api, "/v1/content"), queries_of(api, "/v1/content", expand="policy")
    assert len(expanded) == len(plain) + 1


def test_a_cursor_costs_nothing_and_a_single_page_is_not_counted(api, account):
    for _ in range(3):
        factories.content(account)
    api.get("/v1/content")  # notes the use of the key
    whole, part = queries_of(api, "/v1/content", limit=3), queries_of(api, "/v1/content", limit=2)
    assert len(whole) == len(part) - 1
    assert len(queries_of(api, "/v1/content", limit=2, count="none")) == len(whole)

    for _ in range(3):
        factories.content(account)
    cursor = api.get("/v1/content", limit=1)["nextCursor"]
    assert len(queries_of(api, "/v1/content", limit=1, cursor=cursor)) == len(queries_of(api, "/v1/content", limit=1))


def test_decisions_on_many_policies_cost_no_more_than_on_one(api, account, forgetful):
    for _ in range(8):
        item = factories.content(account, policy_id=factories.policy(account).pk)
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    api.get("/v1/content")  # notes the use of the key
    forgetful()
    one = queries_of(api, "/v1/access/decisions", limit=1)
    forgetful()
    assert len(queries_of(api, "/v1/access/decisions", limit=7)) == len(one)


def test_a_batch_makes_as_many_queries_as_a_check_alone(api, account):
    items = [factories.content(account, policy_id=factories.policy(account).pk) for _ in range(6)]
    checks = [{"contentId": item.pk, "requester": f"org_{n}"} for n, item in enumerate(items)]
    for check in checks:
        api.post("/v1/access/check", check)

    def queries_for(count):
        with CaptureQueriesContext(connection) as captured:
            assert api.post("/v1/access/check/batch", {"checks": checks[:count]}).status == 200
        return len(captured)

    assert queries_for(6) == queries_for(1)

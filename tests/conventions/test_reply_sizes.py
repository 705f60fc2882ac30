import orjson
import pytest

from licensing.policies import services as policy_services
from tests import factories, largest

MIB = 1024 * 1024
LONG_NAME = largest.LONGEST * 254


@pytest.fixture
def large(account):
    """An item with the most and longest tags, under a policy with the most rules."""
    policy = factories.policy(account, *largest.many_rules())
    return factories.content(account, policy_id=policy.pk, tags=largest.content()["tags"])


@pytest.fixture
def asked():
    return {"requester": {"id": "r" + LONG_NAME, "name": "n" + LONG_NAME}, "explain": True}


def pages(api, path, **query):
    """Yield the pages of a list to its end."""
    page = api.get(path, **query)
    while True:
        yield page
        if not page["hasMore"]:
            assert "nextCursor" not in page.body
            return
        page = api.get(path, cursor=page["nextCursor"], **query)


def check_pages(api, path, expected, **query):
    """Assert that each page is within the size limit, and that together they have every row once."""
    found = list(pages(api, path, limit=100, **query))
    assert max(len(page.content) for page in found) <= MIB + 1_024
    assert len(found) > 1
    assert [page["totalCount"] for page in found] == [expected] * len(found)
    rows = [row.get("id") + str(row.get("version", "")) for page in found for row in page["data"]]
    assert len(rows) == len(set(rows)) == expected


def test_the_trace_of_a_check_is_cut_and_recorded_so(api, large, asked):
    reply = api.post("/v1/access/check", {"contentId": large.pk, **asked})
    assert reply["traceTruncated"] is True
    assert 1 <= len(reply["trace"]) < 100
    assert reply["matchedRule"]["index"] == 99
    assert len(reply.content) < 150_000
    made = api.post("/v1/access/check", {"contentId": large.pk, **asked})
    kept = api.get(f"/v1/access/decisions/{made['id']}")
    assert (kept["trace"], kept["traceTruncated"]) == (made["trace"], True)


def test_ordinary_traces_are_whole(api, account):
    policy = factories.policy(account, *largest.rules())
    item = factories.content(account, policy_id=policy.pk)
    reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "r", "explain": True})
    assert len(reply["trace"]) == len(policy.rules)
    assert "traceTruncated" not in reply.body

    rules = [{"action": "deny", "conditions": {"licenseType": f"type-{number}"}} for number in range(20)]
    item = factories.content(account, policy_id=factories.policy(account, *rules).pk)
    checks = [{"contentId": item.pk}] * 100
    reply = api.post("/v1/access/check/batch", {"requester": "r", "explain": True, "checks": checks})
    assert {len(decision["trace"]) for decision in reply["data"]} == {20}
    assert "traceTruncated" not in reply["data"][99]


def test_the_traces_of_a_batch_share_a_bound(api, large, asked):
    checks = [{"contentId": large.pk, "correlationId": f"{number}" + LONG_NAME[:250]} for number in range(100)]
    reply = api.post("/v1/access/check/batch", {**asked, "checks": checks})
    assert len(reply.content) < 2 * MIB
    assert all(decision["traceTruncated"] for decision in reply["data"])
    assert sum(len(orjson.dumps(decision["trace"])) for decision in reply["data"]) <= MIB // 2 + 100
    checks = [{"contentId": large.pk, "explain": number == 0} for number in range(100)]
    reply = api.post("/v1/access/check/batch", {**asked, "checks": checks})
    assert len(orjson.dumps(reply["data"][0]["trace"])) > MIB // 20


def test_content_of_the_largest_size_and_with_embedded_policies_ends_a_page_early(api, account):
    for _ in range(8):
        assert api.post("/v1/content", largest.content()).status == 201
    check_pages(api, "/v1/content", 8)
    policy = factories.policy(account, *largest.rules())
    for _ in range(32):
        factories.content(account, policy_id=policy.pk)
    check_pages(api, "/v1/content", 40, expand="policy")


def test_policies_and_their_versions_end_a_page_early(api, account):
    policy, *_ = [factories.policy(account, *largest.rules()) for _ in range(20)]
    check_pages(api, "/v1/policies", 20)
    for number in range(20):
        policy = policy_services.update_policy(policy, {"name": f"Version {number}"})
    check_pages(api, f"/v1/policies/{policy.pk}/versions", 21)


def test_the_audit_log_ends_a_page_early(api, account):
    policy = factories.policy(account, *largest.rules())
    for number in range(12):
        policy = policy_services.update_policy(policy, {"rules": largest.rules(width=10 + number)})
    total = api.get("/v1/audit")["totalCount"]
    check_pages(api, "/v1/audit", total)


def test_a_row_that_is_larger_than_a_page_is_one(api, account):
    stored = factories.policy(account, *largest.rules_of(2 * MIB, width=60))
    factories.policy(account)
    first, second = (page["data"] for page in pages(api, "/v1/policies"))
    assert [row["id"] for row in second] == [stored.pk]
    assert len(first) == 1


def test_a_page_of_a_hundred_ordinary_rows_is_whole(api, account):
    for _ in range(60):
        factories.content(account)
    reply = api.get("/v1/content", limit=100)
    assert (len(reply["data"]), reply["hasMore"]) == (60, False)

import pytest

from tests import factories
from tests.factories import LICENSED_REQUESTER


@pytest.fixture
def batch(api):
    return lambda checks, **defaults: api.post("/v1/access/check/batch", {"checks": checks, **defaults})


def test_decisions_come_in_the_order_of_the_checks(batch, account, item):
    other = factories.content(account)
    reply = batch(
        [
            {"contentId": item.pk, "requester": LICENSED_REQUESTER, "correlationId": "first"},
            {"contentId": other.pk, "requester": "org_b"},
            {"externalId": "a-1", "requester": "org_c", "correlationId": "third"},
            {"source": "https://example.com/a", "requester": LICENSED_REQUESTER},
        ]
    )
    assert reply.status == 200
    assert (reply["object"], reply["hasMore"], reply["totalCount"]) == ("list", False, 4)
    assert "nextCursor" not in reply.body
    assert [one["allowed"] for one in reply["data"]] == [True, False, False, True]
    assert [one["reason"] for one in reply["data"]] == [None, "no_policy", "no_license", None]
    assert [one["contentId"] for one in reply["data"]] == [item.pk, other.pk, item.pk, item.pk]
    assert [one.get("correlationId") for one in reply["data"]] == ["first", None, "third", None]


def test_a_batch_decides_like_single_checks(api, batch, item, account):
    check = {"contentId": item.pk, "requester": LICENSED_REQUESTER, "permission": "print"}
    [batched] = batch([check])["data"]
    alone = api.post("/v1/access/check", check).body
    assert {**batched, "id": None, "created": None} == {**alone, "id": None, "created": None}
    items = [item.pk, factories.content(account, policy_id=item.policy_id).pk, item.pk]
    marks = ['"quoted" \\\\', "Zoë 🐝", "one \\u2028 two"]
    checks = [{"contentId": one, "correlationId": mark} for one, mark in zip(items, marks, strict=True)]
    asked = {"requester": {"id": "org", "name": 'The "Zoë" \\ Company'}, "permission": "read", "explain": True}
    reply = batch(checks, **asked)
    for one, content, mark in zip(reply["data"], items, marks, strict=True):
        alone = api.post("/v1/access/check", {"contentId": content, **asked})
        own = {"id": one["id"], "created": one["created"]}
        assert one == {**alone.body, **own, "correlationId": mark}
        assert list(one) == [*alone.body, "correlationId"]


def test_checks_fall_back_to_the_fields_of_the_batch(batch, item, account):
    reply = batch(
        [{}, {"requester": "org_b"}, {"permission": "print"}, {"explain": False, "dryRun": False}],
        contentId=item.pk,
        requester=LICENSED_REQUESTER,
        permission="read",
        dryRun=True,
        explain=True,
        context={"ip": "203.0.113.9"},
    )
    first, second, third, fourth = reply["data"]
    assert [one["requester"]["id"] for one in reply["data"]] == ["org_acme", "org_b", "org_acme", "org_acme"]
    assert (first["allowed"], second["allowed"], third["allowed"]) == (True, False, True)
    assert (first["dryRun"], first["id"]) == (True, None)
    assert "trace" in first
    assert fourth["dryRun"] is False
    assert fourth["id"] is not None
    assert "trace" not in fourth
    other = factories.content(account, external_id="b-2")
    reply = batch([{"externalId": "b-2"}, {}], contentId=item.pk, requester="org")
    assert [one["contentId"] for one in reply["data"]] == [other.pk, item.pk]


def test_an_item_that_cannot_be_decided_carries_its_error(batch, item, other_account):
    unknown = {"contentId": "cnt_" + "0" * 26, "correlationId": "lost"}
    theirs = {"contentId": factories.content(other_account).pk}
    lost, elsewhere, found = batch([unknown, theirs, {"contentId": item.pk}], requester="org")["data"]
    assert (lost["object"], lost["allowed"], lost["correlationId"]) == ("access_decision", False, "lost")
    assert (lost["error"]["code"], lost["error"]["type"]) == ("resource_not_found", "not_found_error")
    assert lost["error"]["message"]
    assert elsewhere["error"]["code"] == "resource_not_found"
    assert found["reason"] == "no_license"
    assert "error" not in found


def test_each_decision_is_recorded(api, batch, item):
    made = batch(
        [{"requester": "org_a"}, {"requester": "org_b"}, {"dryRun": True}], contentId=item.pk, requester="org_c"
    )
    listed = api.get("/v1/access/decisions")
    assert listed["totalCount"] == 2
    assert {one["id"] for one in listed["data"]} == {one["id"] for one in made["data"]} - {None}
    assert api.get(f"/v1/content/{item.pk}")["stats"]["totalRequests"] == 2


def test_a_batch_of_100_checks_is_one_request_for_the_plan(api, batch, item, clock):
    before = api.get("/v1/content").headers["X-RateLimit-Remaining"]
    reply = batch([{"contentId": item.pk, "requester": "org"}] * 50)
    assert int(reply.headers["X-RateLimit-Remaining"]) == int(before) - 1
    assert batch([{"correlationId": "x" * 255}] * 100, contentId=item.pk, requester="org")["totalCount"] == 100


def test_a_rate_limit_counts_in_the_order_of_the_checks(batch, account):
    rule = {**factories.ALLOW_ALL, "rateLimit": {"requests": 3, "period": "month"}}
    policy = factories.policy(account, rule)
    article, video = (factories.content(account, policy_id=policy.pk, type=kind).pk for kind in ("article", "video"))
    for requester, items in (("org_a", [article] * 5), ("org_b", [article, video, article, video, article])):
        data = batch([{"contentId": one} for one in items], requester=requester)["data"]
        assert [one["contentId"] for one in data] == items
        assert [one["allowed"] for one in data] == [True, True, True, False, False]
        assert [one["rateLimit"]["remaining"] for one in data] == [2, 1, 0, 0, 0]
    made = [one["id"] for one in batch([{"contentId": article}, {"contentId": video}] * 20, requester="org")["data"]]
    assert made == sorted(set(made))


def test_a_malformed_batch_is_refused_whole(api, batch, item):
    for checks, defaults, param in [
        ([], {}, "checks"), ([{}] * 101, {}, "checks"), (None, {}, "checks"), ([{}, None], {}, "checks[1]"),
        ([{"correlationId": "x" * 256}], {}, "checks[0].correlationId"),
        ([{}, {"permission": "Read"}], {}, "checks[1].permission"),
        ([{}, {"requester": {"name": "x"}}], {}, "checks[1].requester.id"), ([{"checks": []}], {}, "checks[0].checks"),
        ([{}, {"externalId": "a", "source": "https://example.com/"}], {}, "checks[1].source"),
        ([{}], {"contentId": None}, "checks[0].contentId"), ([{}], {"requester": {}}, "requester.id"),
        ([{}], {"correlationId": "x"}, "correlationId"),
    ]:  # fmt: skip
        reply = batch(checks, **{"contentId": item.pk, "requester": "org", **defaults})
        assert reply.status_and_param == (422, param)
    assert api.get("/v1/access/decisions")["totalCount"] == 0
    assert batch([{"contentId": item.pk}]).status_and_param == (422, "checks[0].requester")

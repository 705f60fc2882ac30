import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.endpoints.check_fields import FIELDS


def test_the_newest_decision_comes_first_as_it_was_answered(api, item):
    made = [
        api.post("/v1/access/check", {"contentId": item.pk, "requester": who}).body
        for who in (factories.LICENSED_REQUESTER, "org_b", {"id": "org_c", "name": "C"})
    ]
    reply = api.get("/v1/access/decisions")
    assert reply.body == {"object": "list", "data": made[::-1], "hasMore": False, "totalCount": 3}
    assert set(reply["data"][0]) == FIELDS


def test_a_dry_run_or_refused_check_leaves_nothing(api, item):
    reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org", "dryRun": True})
    assert (reply["dryRun"], reply["id"], reply["reason"]) == (True, None, "no_license")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": ""})
    api.post("/v1/access/check", {"contentId": "cnt_" + "0" * 26, "requester": "org"})
    assert api.get("/v1/access/decisions")["totalCount"] == 0
    assert api.get(f"/v1/content/{item.pk}")["stats"]["totalRequests"] == 0


def test_decisions_on_many_policies_show_their_own_policy(api, account):
    made = []
    for number in range(45):
        rule = {**factories.DENY_ALL, "message": f"rule {number}"}
        item = factories.content(account, policy_id=factories.policy(account, rule).pk)
        made.append(api.post("/v1/access/check", {"contentId": item.pk, "requester": "r"})["id"])
    listed = api.get("/v1/access/decisions", limit=100)["data"]
    assert [(one["id"], one["message"]) for one in reversed(listed)] == [
        (decision, f"rule {number}") for number, decision in enumerate(made)
    ]


@pytest.mark.parametrize(("query", "found"), [
    ({"allowed": "true", "reason": "no_license"}, 0), ({"allowed": "true", "reason[exists]": "true"}, 0),
    ({"allowed": "false", "reason[exists]": "false"}, 0), ({"reason": "no_license", "reason[ne]": "no_license"}, 0),
    ({"allowed": "true", "reason[ne]": "no_license"}, 1), ({"allowed": "false", "reason": "no_license"}, 1),
    ({"allowed[ne]": "true", "reason[exists]": "true"}, 1),
])  # fmt: skip
def test_outcomes_that_exclude_each_other_are_not_searched_for(api, item, query, found):
    for who in (factories.LICENSED_REQUESTER, "org_b"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": who})
    with CaptureQueriesContext(connection) as asked:
        assert len(api.get("/v1/access/decisions", count="none", **query)["data"]) == found
    searches = [one["sql"] for one in asked if '"analytics_accessevent"."facts"' in one["sql"]]
    assert len(searches) == found

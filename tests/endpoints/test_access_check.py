import re
from typing import Any

import pytest

from tests import factories
from tests.endpoints.check_fields import FIELDS
from tests.endpoints.content_fields import A_TIMESTAMP


@pytest.fixture
def check(api, item):
    """Check access to `item` for a licensed requester; fields given replace or add."""

    def send(**fields: Any):
        named = {} if {"externalId", "source", "contentId"} & set(fields) else {"contentId": item.pk}
        return api.post("/v1/access/check", {**named, "requester": factories.LICENSED_REQUESTER, **fields})

    return send


def test_an_allowed_check_names_its_rule_and_licence(check, item, policy):
    reply = check(permission="commercial_use", context={"ip": "203.0.113.9", "userAgent": "ExampleBot/1.0"})
    assert reply.status == 200
    decision = reply.body
    assert re.fullmatch(r"dec_[0-9a-z]{26}", decision.pop("id"))
    assert A_TIMESTAMP(decision.pop("created"))
    assert decision == {
        "object": "access_decision", "allowed": True, "reason": None, "message": None, "contentId": item.pk,
        "requester": {"id": "org_acme", "name": "Acme"}, "permission": "commercial_use",
        "permissions": ["full_access"], "policyId": policy.pk, "policyVersion": 1,
        "matchedRule": {"index": 0, "priority": 1, "action": "allow"},
        "license": {"id": None, "licenseType": "commercial", "expiresAt": None, "source": "caller"}, "rateLimit": None,
        "charge": None, "cacheFor": 60, "dryRun": False,
    }  # fmt: skip


def test_a_denied_check_is_a_200_with_the_rules_message(check):
    reply = check(requester={"id": "org_nobody"})
    assert (reply.status, reply["allowed"], reply["reason"]) == (200, False, "no_license")
    assert reply["message"] == "A valid licence is required."
    assert reply["matchedRule"] == {"index": 1, "priority": 99, "action": "deny"}
    assert (reply["permissions"], reply["license"]) == ([], None)
    assert set(reply.body) == FIELDS
    assert check()["id"] != check()["id"]


def test_a_decision_without_a_policy_or_a_matching_rule_names_none(api, account):
    def decide(policy):
        item = factories.content(account, policy=policy)
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_nobody", "explain": True})

    reply = decide(None)
    assert [reply[name] for name in ("policyId", "policyVersion", "matchedRule", "trace")] == [None, None, None, []]
    reply = decide(factories.policy(account, factories.ALLOW_LICENSED))
    assert (reply["policyVersion"], reply["matchedRule"], reply["message"]) == (1, None, None)
    reply = decide(factories.policy(account, factories.ALLOW_ALL))
    assert reply["matchedRule"] == {"index": 0, "priority": None, "action": "allow"}


def test_an_item_is_named_in_exactly_one_way(check, item):
    for named in [{"externalId": "a-1"}, {"source": "https://example.com/a"}]:
        reply = check(**named)
        assert (reply.status, reply["contentId"]) == (200, item.pk)
    for other in [{"externalId": "a-1"}, {"source": "https://example.com/a"}]:
        reply = check(contentId=item.pk, **other)
        assert reply.status == 422
        assert reply.error["param"] in {"contentId", *other}
    for named in [{"contentId": None}, {"externalId": None, "source": None}]:
        assert check(**named).status_and_param == (422, "contentId")
    assert check(contentId=item.pk, externalId=None, source=None).status == 200


def test_unknown_content_and_that_of_another_account_are_not_found(check, other_api, item):
    for named in [
        {"contentId": "cnt_" + "0" * 26}, {"contentId": "no-id"}, {"externalId": "unknown"},
        {"source": "https://example.com/unknown"},
    ]:  # fmt: skip
        assert check(**named).status_and_code == (404, "resource_not_found")
    for named in [{"contentId": item.pk}, {"externalId": item.external_id}, {"source": item.source}]:
        assert other_api.post("/v1/access/check", {**named, "requester": "org"}).status == 404


def test_of_several_items_at_one_url_the_newest_active_one_is_meant(api, account):
    url = "https://example.com/shared"
    oldest, middle, newest = (factories.content(account, source=url) for _ in range(3))

    def meant() -> str:
        return api.post("/v1/access/check", {"source": url, "requester": "org"})["contentId"]

    assert meant() == newest.pk
    api.patch(f"/v1/content/{newest.pk}", {"status": "archived"})
    assert meant() == middle.pk
    api.delete(f"/v1/content/{middle.pk}")
    assert meant() == oldest.pk
    api.patch(f"/v1/content/{oldest.pk}", {"status": "archived"})
    reply = api.post("/v1/access/check", {"source": url, "requester": "org"})
    assert (reply.status, reply["reason"]) == (200, "content_archived")


def test_values_within_bounds_are_accepted(check):
    for fields in [
        {"requester": "x" * 255}, {"permission": "a" * 64}, {"permission": None}, {"context": None}, {"context": {}},
        {"requester": {"id": "x", "name": "n" * 255, "licenseType": None, "hasValidLicense": None}},
        {"context": {"ip": "2001:db8::1", "userAgent": ""}}, {"context": {"ip": None, "userAgent": None}},
        {"dryRun": False, "explain": False},
    ]:  # fmt: skip
        assert check(**fields).status == 200


def test_values_out_of_bounds_are_refused_by_name(api, item, check):
    """Values of other types are in tests/conventions/test_types.py."""
    reply = api.post("/v1/access/check", {"contentId": item.pk})
    assert reply.status_and_param == (422, "requester")
    for fields, param in [
        ({"requester": None}, "requester"), ({"requester": ""}, "requester"), ({"requester": "x" * 256}, "requester"),
        ({"requester": {}}, "requester.id"), ({"requester": {"name": "Acme"}}, "requester.id"),
        ({"requester": {"id": ""}}, "requester.id"), ({"requester": {"id": "x" * 256}}, "requester.id"),
        ({"requester": {"id": "x", "licence": "commercial"}}, "requester.licence"),
        ({"permission": "Read"}, "permission"), ({"permission": ""}, "permission"),
        ({"permission": "a" * 65}, "permission"), ({"context": {"ip": "1.2.3"}}, "context.ip"),
        ({"context": {"ip": "1.2.3.0/24"}}, "context.ip"), ({"context": {"referrer": "x"}}, "context.referrer"),
        ({"source": "not a url"}, "source"),
    ]:  # fmt: skip
        reply = check(**fields)
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.get("/v1/access/decisions")["totalCount"] == 0

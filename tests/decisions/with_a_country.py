"""Everything that the temporary fact of tests.decisions.one_more_fact supports without more code.

test_one_more_fact.py runs this in a separate process.
"""

import pytest

from licensing.policies.facts import FACTS
from tests import factories

IN_GERMANY = {
    "action": "allow",
    "conditions": {"requesterCountry": ["DE", "AT"], "hasValidLicense": True},
    "permissions": ["read"],
}
REQUESTER = {"id": "org_acme", "licenseType": "commercial", "hasValidLicense": True, "country": "DE"}


@pytest.fixture
def policy(account):
    return factories.policy(account, IN_GERMANY)


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk)


def test_the_row_is_there():
    assert "requesterCountry" in {fact.name for fact in FACTS}


def test_a_rule_that_looks_at_it_decides(api, item):
    check = {"contentId": item.pk, "permission": "read"}
    allowed = api.post("/v1/access/check", {**check, "requester": REQUESTER})
    elsewhere = api.post("/v1/access/check", {**check, "requester": {**REQUESTER, "country": "FR"}})
    unknown = api.post("/v1/access/check", {**check, "requester": {**REQUESTER, "country": None}})
    assert [one["allowed"] for one in (allowed, elsewhere, unknown)] == [True, False, False]


def test_a_simulation_of_the_unchanged_policy_changes_nothing(api, item, policy):
    for country in ("DE", "FR"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": {**REQUESTER, "country": country}})
    reply = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (reply["total"], reply["unchanged"], reply["reasonChanged"]) == (2, 2, 0)


def test_a_second_condition_on_a_fact_is_simulated_with_the_fact(api, account):
    policy = factories.policy(account, {"action": "allow", "conditions": {"hasAttributes": True}})
    item = factories.content(account, policy_id=policy.pk)
    for attributes in ({"seats": 5}, {}):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": {"id": "org_acme", "attributes": attributes}})
    reply = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (reply["total"], reply["unchanged"], reply["reasonChanged"]) == (2, 2, 0)


def test_a_recorded_decision_shows_it(api, item):
    made = api.post("/v1/access/check", {"contentId": item.pk, "requester": REQUESTER})
    assert api.get(f"/v1/access/decisions/{made['id']}")["requester"]["country"] == "DE"


def test_a_value_that_is_none_is_refused_by_its_path(api, item):
    reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": {**REQUESTER, "country": "Germany"}})
    assert (reply.status, reply.error["param"]) == (422, "requester.country")


def test_a_test_of_a_policy_can_say_it(api):
    test = {"requester": REQUESTER, "permission": "read", "expect": {"allowed": True}}
    body = {"name": "Tested", "rules": [IN_GERMANY]}
    assert api.post("/v1/policies", {**body, "tests": [test]}).status == 201
    elsewhere = {**test, "requester": {**REQUESTER, "country": "FR"}}
    assert api.post("/v1/policies", {**body, "tests": [elsewhere]}).error["param"] == "tests[0]"


def test_the_openapi_document_describes_it(api):
    document = api.get("/v1/openapi.json").body["components"]["schemas"]
    described = {name for name, schema in document.items() if "country" in schema.get("properties", {})}
    assert described >= {"Requester", "RequesterOfTest", "RequesterShown"}

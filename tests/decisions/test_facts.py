"""A decision's facts are the ones recorded and the ones replayed."""

from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.values.timestamps import parse_timestamp
from licensing.access.bodies import parse_check
from licensing.access.facts import facts_of_event
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import judge
from licensing.policies.facts import ASKED, DEFAULTS, ITEM_FACTS, Facts, HeldLicense, value_in_words
from licensing.policies.policy_tests import build_policy_test, build_test_facts
from licensing.policies.rules import parse_rules
from operators.policies.trial import TrialForm, typed_fields
from tests.decisions.fact_values import sent_in
from tests.decisions.facts_seen import REQUESTERS, RULES, Seen, make_items, recorded_and_replayed, sayable
from tests.examples import examples

MADE_UP = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
OFFERED = {fact.name for fact in ASKED}  # in the trial form
POLICY = CompiledPolicy.of(None, None, "deny", parse_rules(RULES))


@st.composite
def checks(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a check except its item."""
    body: dict[str, Any] = {"requester": {"id": draw(st.sampled_from(REQUESTERS)), **draw(sent_in("requester"))}}
    if draw(st.booleans()):
        body["requester"]["name"] = draw(st.sampled_from(["Acme", "Ä"]))
    if context := draw(sent_in("context")):
        body["context"] = context
    if draw(st.booleans()):
        body["permission"] = draw(st.sampled_from(["read", "print"]))
    return body


ITEMS = st.integers(0, 5)


@pytest.fixture
def items(account):
    return make_items(account)[1]


@pytest.fixture
def seen(monkeypatch):
    return Seen(monkeypatch)


def test_the_made_up_items_have_each_fact_that_an_item_can_have(api, items, seen):
    for item in items:
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_other"})
    known = {
        fact.attribute
        for fact in ITEM_FACTS
        if any(getattr(answer.facts, fact.attribute) != DEFAULTS[fact.attribute] for answer in seen.answers)
    }
    of_pages = {"mode", "is_open", "is_elsewhere"}  # tests/edge/test_edge_facts.py
    assert known == {fact.attribute for fact in ITEM_FACTS} - of_pages


@MADE_UP
@given(place=ITEMS, body=checks())
def test_a_check_is_recorded_and_replayed_on_the_facts_that_it_was_decided_on(api, items, seen, place, body):
    reply = api.post("/v1/access/check", {"contentId": items[place].pk, **body})
    assert reply.status == 200, reply
    assert recorded_and_replayed(reply["id"]) == (seen.answers[-1].facts,) * 2


@MADE_UP
@given(defaults=checks(), own=st.lists(st.tuples(ITEMS, st.none() | checks()), min_size=1, max_size=4))
def test_so_is_each_check_of_a_batch(api, items, seen, defaults, own):
    del seen.answers[:]
    asked = [{"contentId": items[place].pk, **(body or {})} for place, body in own]
    reply = api.post("/v1/access/check/batch", {**defaults, "checks": asked})
    assert reply.status == 200, reply
    for shown, check in zip(reply["data"], asked, strict=True):
        alone = api.post("/v1/access/check", {**defaults, **check})
        decided_alone = seen.answers[-1].facts
        decided = next(one.facts for one in seen.answers if alike(one.facts, decided_alone))
        assert recorded_and_replayed(shown["id"]) == (decided,) * 2
        assert (shown["allowed"], shown["reason"]) == (alone["allowed"], alone["reason"])


def alike(one: Facts, other: Facts) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in Facts.__struct_fields__ if name != "now")


@MADE_UP
@given(place=ITEMS, body=checks())
def test_the_test_that_a_decision_makes_says_the_same_facts(api, items, seen, place, body):
    api.post("/v1/access/check", {"contentId": items[place].pk, **body})
    facts = seen.answers[-1].facts
    test = build_policy_test(POLICY, facts, "An example")
    assert sayable(build_test_facts(test, facts.now)) == sayable(facts)
    made = api.post("/v1/policies", {"name": "Tested", "rules": RULES, "tests": [test]})
    assert made.status == 201, made
    assert made["tests"] == [test]
    assert judge(POLICY, build_test_facts(test, facts.now)).allowed is test["expect"]["allowed"]


@MADE_UP
@given(body=checks())
def test_the_trial_form_asks_again_what_was_recorded(body):
    check = parse_check({"contentId": "cnt_1", **body})
    permission = {"permission": check.permission or ""}
    form = TrialForm({"item": "cnt_1", "requester": "org_a", **permission, **typed_fields(check.given.recorded)})
    assert form.is_valid(), form.errors
    again = form.check()
    assert again.given.facts == check.given.facts
    assert again.given.recorded == {name: value for name, value in check.given.recorded.items() if name in OFFERED}
    assert again.permission == check.permission


HELD = HeldLicense("press", "service", "lic_1", parse_timestamp("2027-01-01"), 250_000, "USD")
PRESS = {
    "id": "lic_1", "licenseType": "press", "expiresAt": "2027-01-01T00:00:00.000000Z", "accessAmount": 250_000,
    "accessCurrency": "USD",
}  # fmt: skip
# Records of versions before the table of facts, with the facts read from them.
RECORDED = [
    ({"contentType": "article"}, {}),
    (
        {
            "contentType": "report", "tags": ["open", "news"], "category": "finance", "archived": True,
            "licenseType": "commercial", "hasValidLicense": True, "requesterName": "Acme", "ip": "2001:db8::7",
            "userAgent": "ExampleBot/1.0",
        },
        {
            "content_type": "report", "tags": frozenset({"open", "news"}), "category": "finance", "archived": True,
            "license_types": ("commercial",), "has_valid_license": True, "licenses": (HeldLicense("commercial"),),
            "ip": ip_address("2001:db8::7"),
        },
    ),
    (
        {
            "contentType": "article", "url": "https://pub.example/a", "pattern": "/", "mode": "observe", "open": True,
            "identifiedBy": "user_agent", "decidedAs": "anonymous", "licenseType": "premium", "licenses": [PRESS],
        },
        {
            "requester_id": "anonymous", "mode": "observe", "identified_by": "user_agent", "is_open": True,
            "license_types": ("press",), "has_valid_license": True, "licenses_by_service": True, "licenses": (HELD,),
        },
    ),
    (
        {
            "contentType": "article", "licenses": [], "lapsedLicense": True,
            "offer": {"licenseType": "premium", "accessAmount": 500_000, "accessCurrency": "USD"},
        },
        {
            "license_types": ("premium",), "has_valid_license": True, "has_lapsed_license": True,
            "licenses_by_service": True,
            "licenses": (HeldLicense("premium", "offer", access_amount=500_000, access_currency="USD"),),
        },
    ),
]  # fmt: skip


def test_records_of_earlier_versions_are_read_as_they_were():
    for recorded, known in RECORDED:
        now = parse_timestamp("2026-06-01")
        facts = facts_of_event(recorded, "org_acme", "read", now)
        read = Facts(**{name: getattr(facts, name) for name in Facts.__struct_fields__})
        assert read == Facts(**{"now": now, "requester_id": "org_acme", "permission": "read", **known})


def test_a_fact_in_words():
    for value, words in [
        (True, "yes"), (False, "no"), (["news", "paid"], "news, paid"), ([], "nothing"), (None, "nothing"),
        ("news", "news"), (25, "25"), ({"seats": 25}, "seats=25"),
    ]:  # fmt: skip
        assert value_in_words(value) == words

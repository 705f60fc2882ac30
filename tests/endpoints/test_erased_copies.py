"""DELETE /v1/requesters/{id}: copies that name the person in other ways than its row does."""

import json
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from accounts.models import SavedFilter
from accounts.webhooks.models import WebhookEndpoint
from analytics.events import summaries
from analytics.models import AccessEvent
from tests import factories
from tests.endpoints.traces import CONTEXT, ID, PATH, PERSON, TRACES, everything_stored, tables_with_traces


def test_replies_kept_for_checks_lose_names_trace_and_token(api, account):
    rule = {"action": "allow", "priority": 1, "conditions": {"ip": ["10.0.0.0/8"]}, "permissions": ["full_access"]}
    page = factories.content(account, policy_id=factories.policy(account, rule).pk).pk
    asked = {"contentId": page, "explain": True, "sign": True, "context": CONTEXT}
    hers, *others = (
        asked | {"requester": {"id": one, "name": name}}
        for one, name in ((ID, "Ada Byron"), ("other", "Other Reader"), (ID, PERSON["name"]))
    )
    requests = (
        ("one", "/v1/access/check", hers),
        ("several", "/v1/access/check/batch", {"checks": [hers, *others]}),
    )
    first = [api.post(path, body, headers={"Idempotency-Key": key}) for key, path, body in requests]
    assert [reply.status for reply in first] == [200, 200], first
    pseudonym = api.delete(PATH)["pseudonym"]
    again = [api.post(path, body, headers={"Idempotency-Key": key}) for key, path, body in requests]
    assert [reply.headers["Idempotent-Replayed"] for reply in again] == ["true", "true"]
    assert again[1]["data"][1] == first[1]["data"][1]
    for before, after in (
        (first[0].body, again[0].body),
        (first[1]["data"][0], again[1]["data"][0]),
        (first[1]["data"][2], again[1]["data"][2]),
    ):
        [step] = before.pop("trace")
        assert before.pop("token")
        assert step["failed"]["saw"] == CONTEXT["ip"]
        step = {**step, "failed": {**step["failed"], "saw": None}}
        assert after == {**before, "requester": {"id": pseudonym, "name": None}, "trace": [step]}


def test_names_that_checks_gave_leave_replies_and_access_summaries(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk).pk
    api.post("/v1/webhooks", {"url": "https://hooks.example/in", "events": ["access.*"]})
    for name in ("Ada Byron", PERSON["name"], "Countess"):
        check = {"contentId": item, "requester": {"id": ID, "name": name}}
        api.post("/v1/access/check", check, headers={"Idempotency-Key": name.replace(" ", "-").lower()})
        endpoint, created = WebhookEndpoint.objects.get(), AccessEvent.objects.latest("created").created
        begin = created.replace(second=0, microsecond=0)
        WebhookEndpoint.objects.update(access_told_until=begin)
        assert summaries.tell_minute(endpoint, begin) == 1
    api.delete(PATH)
    assert tables_with_traces((*TRACES, "Countess")) == set()


@pytest.mark.parametrize("own", ["zo\u00eb", '"quoted" \\ id', "\u8bfb\u8005", "\U0001f600"])
def test_ids_of_all_characters_are_found(api, own):
    path = f"/v1/requesters/{quote(own, safe='')}"
    api.post("/v1/webhooks", {"url": "https://hooks.example/in", "accessFilter": {"requesterIds": [own]}})
    api.post("/v1/licenses", {"requesterId": own, "licenseType": "commercial"}, headers={"Idempotency-Key": "licence"})
    rule = {"action": "allow", "conditions": {"requesterId": [own]}}
    assert api.post("/v1/policies", {"name": "Theirs", "rules": [rule]}).status == 201
    assert api.delete(path).status == 200
    spellings = [
        one.encode() for text in (json.dumps(own), json.dumps(own, ensure_ascii=False)) for one in (text, repr(text))
    ]
    assert {table for table, raw in everything_stored() if any(one in raw for one in spellings)} == set()


def test_erasing_a_requester_leaves_equal_words_of_other_records_unchanged(api):
    api.post("/v1/requesters", {"id": "org_b"})
    wallet = api.post("/v1/wallets", {"requesterId": "org_b", "unit": "EUR"})["id"]
    terms = {"requesterId": "org_b", "requesterName": "B", "licenseType": "commercial", "metadata": {"order": "4711"}}
    issued = api.post("/v1/licenses", terms, headers={"Idempotency-Key": "licence"}).body
    for one in ("commercial", "EUR"):
        api.post("/v1/requesters", {"id": one, "metadata": {"state": "active"}})
        api.delete(f"/v1/requesters/{one}")
    [event] = api.get("/v1/events?type=license.created")["data"]
    assert event["data"] == issued
    assert api.post("/v1/licenses", terms, headers={"Idempotency-Key": "licence"}).body == issued
    changes = {one["resourceType"]: one["changes"] for one in api.get("/v1/audit")["data"]}
    assert {name: changes["license"][name] for name in terms} == {name: [None, one] for name, one in terms.items()}
    assert changes["wallet"]["unit"] == [None, "EUR"]
    assert api.get(f"/v1/wallets/{wallet}")["unit"] == "EUR"


@pytest.mark.parametrize(
    ("own", "named"),
    [("e", "q=e&o=1"), ("Ada Lovelace", "q=Ada+Lovelace"), (ID, f"q={quote(ID, safe='')}")],
)
def test_only_saved_filters_that_search_for_the_person_are_deleted(api, own, named):
    api.post("/v1/requesters", {"id": own})
    user = User.objects.create_user("ada")
    for query in (named, "status=expired&q=renewal"):
        SavedFilter.objects.create(user=user, listed="licensing.license", name=query, query=query)
    api.delete(f"/v1/requesters/{quote(own, safe='')}")
    assert [one.query for one in SavedFilter.objects.all()] == ["status=expired&q=renewal"]


@pytest.mark.parametrize("member", ["agent", "type", "kind"])
def test_metadata_that_holds_the_id_is_erased_from_copies_under_any_name(api, member):
    api.post("/v1/requesters", PERSON)
    api.post("/v1/requesters", {"id": "friend"})
    issued = {"requesterId": "friend", "licenseType": "commercial", "metadata": {member: ID}}
    assert api.post("/v1/licenses", issued).status == 201
    api.delete(PATH)
    [event] = api.get("/v1/events?type=license.created")["data"]
    [entry] = api.get("/v1/audit?action=license.created")["data"]
    assert (event["data"]["metadata"], entry["changes"]["metadata"]) == ({}, [None, None])

import json
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from accounts.models import AuditEntry, SavedFilter
from accounts.webhooks.models import WebhookEndpoint
from analytics.events import access_summaries
from analytics.models import AccessEvent
from tests import factories
from tests.endpoints.traces import CONTEXT, ID, PATH, PERSON, TRACES, everything_stored, tables_with_traces


def test_a_retry_of_a_request_whose_reply_named_the_person_is_refused_and_does_nothing(api, account):
    page = factories.content(account, policy_id=factories.policy(account).pk).pk
    hers, others = ({"contentId": page, "requester": {"id": id, "name": "Ada Byron"}} for id in (ID, "other"))
    terms = {"requesterId": ID, "licenseType": "commercial"}
    rule = {"action": "allow", "conditions": {"requesterId": [ID]}}
    naming = (
        ("/v1/requesters", PERSON),
        ("/v1/access/check", {**hers, "sign": True, "context": CONTEXT}),
        ("/v1/access/check/batch", {"checks": [others, hers]}),
        ("/v1/licenses/bulk", {"items": [terms]}),
        ("/v1/policies", {"name": "Hers", "rules": [rule]}),
    )
    first = [api.post(path, body, headers={"Idempotency-Key": path}) for path, body in naming]
    assert [reply.status for reply in first] == [201, 200, 200, 200, 201]
    other = api.post("/v1/access/check", others, headers={"Idempotency-Key": "other"})
    before = (AccessEvent.objects.count(), AuditEntry.objects.count())
    api.delete(PATH)
    written = AuditEntry.objects.count() - before[1]
    for path, body in naming:
        again = api.post(path, body, headers={"Idempotency-Key": path})
        assert again.status_and_code == (409, "idempotency_conflict"), path
        assert "a customer that it named was erased" in again.error["message"], path
    assert (AccessEvent.objects.count(), AuditEntry.objects.count() - written) == before
    again = api.post("/v1/access/check", others, headers={"Idempotency-Key": "other"})
    assert (again.body, again.headers["Idempotent-Replayed"]) == (other.body, "true")


def test_names_that_checks_gave_leave_replies_and_access_summaries(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk).pk
    api.post("/v1/webhooks", {"url": "https://hooks.example/in", "events": ["access.*"]})
    for name in ("Ada Byron", PERSON["name"], "Countess"):
        check = {"contentId": item, "requester": {"id": ID, "name": name}}
        api.post("/v1/access/check", check, headers={"Idempotency-Key": name.replace(" ", "-").lower()})
        endpoint, created = WebhookEndpoint.objects.get(), AccessEvent.objects.latest("created").created
        begin = created.replace(second=0, microsecond=0)
        WebhookEndpoint.objects.update(access_told_until=begin)
        assert access_summaries.write_minute(endpoint, begin) == 1
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
    ("own", "named"), [("e", "q=e&o=1"), ("Ada Lovelace", "q=Ada+Lovelace"), (ID, f"q={quote(ID, safe='')}")]
)
def test_only_saved_filters_that_search_for_the_person_are_deleted(api, own, named):
    api.post("/v1/requesters", {"id": own})
    user = User.objects.create_user("ada")
    for query in (named, "status=expired&q=renewal"):
        SavedFilter.objects.create(user=user, listed="licensing.license", name=query, query=query)
    api.delete(f"/v1/requesters/{quote(own, safe='')}")
    assert [one.query for one in SavedFilter.objects.all()] == ["status=expired&q=renewal"]


def test_erasing_a_person_changes_no_history_of_others(api):
    for person in (PERSON, {"id": "friend"}):
        api.post("/v1/requesters", person)
    metadata = {"agent": ID}
    assert api.post("/v1/licenses", {"requesterId": "friend", "licenseType": "x", "metadata": metadata}).status == 201
    api.delete(PATH)
    [event] = api.get("/v1/events?type=license.created")["data"]
    [entry] = api.get("/v1/audit?action=license.created")["data"]
    assert (event["data"]["metadata"], entry["changes"]["metadata"]) == (metadata, [None, metadata])


def test_titles_and_addresses_of_portal_sessions_are_erased(api):
    api.post("/v1/requesters", PERSON)
    returning = {"returnUrl": "https://pub.example/account/Ockham"}
    assert api.post(f"{PATH}/portal-sessions", returning).status == 200
    api.delete(PATH)
    assert tables_with_traces() == set()
    [entry] = api.get("/v1/audit?resourceType=portal_session")["data"]
    assert (entry["resourceTitle"], entry["changes"]["returnUrl"]) == ("portal session", [None, None])


def test_titles_of_redelivered_events_are_erased(api):
    api.post("/v1/requesters", PERSON)
    api.patch(PATH, {"notes": "Met her again."})
    endpoint = api.post("/v1/webhooks", {"url": "https://hooks.example/in", "events": ["*"]})["id"]
    [event] = api.get("/v1/events?type=requester.updated")["data"]
    assert api.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint}).status in (200, 202)
    pseudonym = api.delete(PATH)["pseudonym"]
    assert tables_with_traces() == set()
    [entry] = api.get("/v1/audit?action=event.redelivered")["data"]
    assert entry["resourceTitle"] == f"requester.updated {pseudonym}"


def test_an_id_that_one_merge_named_leaves_that_entry_when_it_is_erased_after_another_merge(api):
    for id in ("first", ID, "last"):
        api.post("/v1/requesters", {"id": id})
    api.post("/v1/requesters/first/merge", {"into": ID})
    api.post(f"{PATH}/merge", {"into": "last"})
    api.delete(PATH)
    assert tables_with_traces() == set()

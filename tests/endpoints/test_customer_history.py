"""The audit log and events name customers by reference, and rows of the version before are moved to that form."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.events.models import Event
from accounts.models import Account, AuditEntry
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from accounts.webhooks.queue import claim
from config import jobs
from licensing.customers import history
from licensing.requesters.models import Requester
from tests import factories
from tests.endpoints.traces import ID, PATH, PERSON, tables_with_traces

HISTORY = ("accounts_auditentry", "accounts_event")
TERMS = {"requesterId": ID, "licenseType": "commercial", "metadata": {"for": "for Ada"}}


def make_history(api):
    """A customer with a licence that came from another customer, a client, a wallet, payments and a portal session."""
    api.post("/v1/webhooks", {"url": "https://hooks.example/in", "events": ["*"]})
    api.post("/v1/requesters", {**PERSON, "name": "Ada Byron"})
    api.patch(PATH, {"name": PERSON["name"], "notes": None})
    held = api.post("/v1/licenses", TERMS)["id"]
    api.patch(f"/v1/licenses/{held}", {"metadata": {"also": "for Ada"}})
    api.post("/v1/requesters", {"id": "friend", "name": 'A "friend"'})
    api.post("/v1/licenses", {**TERMS, "requesterId": "friend", "metadata": {"kept": 1e22}})
    api.post("/v1/license-clients", {"requesterId": ID, "name": "Adas crawler"})
    api.post("/v1/wallets", {"requesterId": ID, "unit": "EUR"})
    payment = {"amount": 5, "currency": "EUR", "requesterId": ID, "note": "A transfer of Ada King"}
    paid = api.post("/v1/payments", payment)["id"]
    api.post(f"/v1/payments/{paid}/void", {"reason": "Ada King paid twice"})
    api.post("/v1/revenue", {"amount": 1, "currency": "EUR", "requesterId": ID, "description": "A sale to Ada King"})
    api.post("/v1/revenue", {"amount": 1, "currency": "EUR", "description": "A sale to somebody"})
    api.post(f"{PATH}/portal-sessions", {"returnUrl": "https://pub.example/Ockham"})
    [event] = api.get("/v1/events?type=requester.updated")["data"]
    api.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": WebhookEndpoint.objects.get().pk})


@pytest.fixture
def of_version_before(account):
    Account.objects.update(seals_history=False)


def shown(api):
    return [api.get(f"/v1/{path}")["data"] for path in ("audit?limit=100", "events?limit=100")]


def test_the_audit_log_and_events_store_nothing_of_a_customer_and_show_it(api):
    make_history(api)
    assert tables_with_traces().isdisjoint(HISTORY)
    [created] = api.get(f"/v1/audit?action=requester.created&resourceId={PATH.rpartition('/')[2]}")["data"]
    assert (created["resourceId"], created["resourceTitle"]) == (ID, "Ada Byron")
    assert created["changes"]["email"] == [None, PERSON["email"]]
    [event] = api.get("/v1/events?type=requester.updated")["data"]
    assert (event["data"]["id"], event["data"]["metadata"]) == (ID, PERSON["metadata"])
    assert event["previous"] == {"name": "Ada Byron", "notes": PERSON["notes"]}
    [redelivered] = api.get("/v1/audit?action=event.redelivered")["data"]
    assert redelivered["resourceTitle"] == f"requester.updated {ID}"


def test_a_delivery_has_the_event_as_the_api_shows_it(api):
    make_history(api)
    sent = {delivery.event.pk: delivery.event.data for delivery in claim({}, 100, 100)}
    assert sent
    assert sent == {event.pk: event.data for event in Event.objects.filter(pk__in=sent)}
    assert any(PERSON["email"] in data for data in sent.values())


def test_an_erasure_writes_no_row_of_the_audit_log_and_events(api):
    make_history(api)
    before = [list(model._base_manager.order_by("pk").values_list()) for model in (AuditEntry, Event)]
    with CaptureQueriesContext(connection) as captured:
        api.delete(PATH)
    writes = [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]
    assert not any(table in sql for sql in writes for table in HISTORY)
    after = [list(model._base_manager.order_by("pk").values_list()) for model in (AuditEntry, Event)]
    assert [rows for rows in before[0] if rows not in after[0]] == []
    assert before[1] == [row for row in after[1] if row in before[1]]
    texts = str(shown(api))
    assert not any(text in texts for text in (ID, "Ada", "Ockham", PERSON["email"], "<requester"))
    assert 'A "friend"' in str(api.get("/v1/events?type=license.created")["data"])


@pytest.mark.usefixtures("of_version_before")
def test_an_erasure_drops_what_the_version_before_has_stored_of_the_person_alone(api):
    make_history(api)
    assert set(HISTORY) <= tables_with_traces()
    others = api.get("/v1/audit?resourceId=friend")["data"], api.get("/v1/events?type=license.created")["data"][0]
    pseudonym = api.delete(PATH)["pseudonym"]
    assert tables_with_traces() <= {"licensing_license"}
    texts = str(shown(api))
    assert not any(text in texts for text in (ID, "Ada King", "Adas", "Ockham", PERSON["email"], "<requester"))
    assert (api.get("/v1/audit?resourceId=friend")["data"], others[1]) == others
    assert pseudonym in {entry["resourceId"] for entry in api.get(f"/v1/audit?resourceId={pseudonym}")["data"]}
    assert api.get("/v1/events?type=license.created")["data"][0] == others[1]


@pytest.mark.usefixtures("of_version_before")
def test_what_the_version_before_has_stored_is_moved_and_shown_as_before(api):
    make_history(api)
    before = shown(api)
    key = Requester.objects.get(requester_id=ID).history_key
    assert history.move_history() > 0
    assert tables_with_traces().isdisjoint(HISTORY)
    assert shown(api) == before
    assert history.move_history() == 0
    assert Requester.objects.get(requester_id=ID).history_key == key
    api.post("/v1/requesters", {"id": "org_new", "name": "Ada Byron"})
    assert tables_with_traces().isdisjoint(HISTORY)


def test_entries_and_events_of_a_customer_are_found_by_its_own_id(api):
    make_history(api)
    entries = api.get(f"/v1/audit?resourceId={PATH.rpartition('/')[2]}")["data"]
    assert {entry["resourceId"] for entry in entries} == {ID}
    assert {entry["action"] for entry in entries} == {"requester.created", "requester.updated"}
    [event] = api.get(f"/v1/events?objectId={PATH.rpartition('/')[2]}")["data"]
    assert event["type"] == "requester.updated"
    assert api.get(f"/v1/events?objectId[ne]={PATH.rpartition('/')[2]}&type=requester.updated")["data"] == []


@pytest.mark.parametrize("erased", ["org_a", "org_b"])
def test_replies_of_endpoints_to_events_of_a_merge_are_erased_with_either_customer(api, erased):
    for id in ("org_a", "org_b"):
        api.post("/v1/requesters", {"id": id})
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "x"})
    api.post("/v1/webhooks", {"url": "https://hooks.example/in"})
    api.post("/v1/requesters/org_a/merge", {"into": "org_b"})
    event = Event.objects.get(type="license.updated")
    endpoint = WebhookEndpoint.objects.get()
    WebhookAttempt.objects.create(
        endpoint=endpoint, event=event, number=1, succeeded=True, reply="Moved to B.", duration_ms=3
    )
    api.delete(f"/v1/requesters/{erased}")
    assert WebhookAttempt.objects.get().reply == ""
    [shown_event] = api.get("/v1/events?type=license.updated")["data"]
    assert (shown_event["data"]["requesterId"] == "org_b") is (erased == "org_a")
    assert shown_event["previous"]["requesterId"].startswith("erased_")


def test_a_job_moves_the_history_a_day_after_the_start_of_a_process():
    [job] = [job for job in jobs.SHARED_JOBS if job.act == history.move_history]
    assert (job.seconds, job.delayed) == (jobs.DAY, True)


@pytest.mark.usefixtures("of_version_before")
def test_an_account_made_during_an_upgrade_writes_what_the_version_before_can_read():
    assert not factories.account(name="New").seals_history
    history.move_history()
    assert factories.account(name="Newer").seals_history

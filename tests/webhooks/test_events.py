"""Each change creates one event with the object as the API returns it (docs/guides/webhooks.md)."""

import json
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.events.event_types import TYPES, by_action
from accounts.events.models import Event
from accounts.events.retention import purge
from accounts.webhooks.models import WebhookAttempt, WebhookDelivery
from operators.catalogue.bulk_change import change_items
from tests import factories
from tests.conventions.filtering import DAYS, EQUALITY, MOMENTS, ORDER, check_filter
from tests.source_files import PRODUCT, sources


@pytest.fixture
def new(account):
    """Return a function that returns the events since the test began, oldest first."""
    known = set(Event.objects.values_list("pk", flat=True))
    return lambda: [one for one in Event.objects.order_by("created", "pk") if one.pk not in known]


def told(event):
    return event.type, json.loads(event.data), event.previous and json.loads(event.previous)


def test_items(api, new):
    first = api.post("/v1/content", {"title": "A", "tags": ["x"], "metadata": {"author": "Ada", "category": "x"}})
    path = f"/v1/content/{first['id']}"
    changes = [{"title": "B", "metadata": {"author": "Bob"}}, {"status": "archived"}, {"status": "active"}]
    replies = [api.patch(path, change).body for change in changes]
    second, third, fourth = ({name: one[name] for name in one if name != "stats"} for one in replies)
    api.delete(path)
    assert [told(event) for event in new()] == [
        ("content.created", first.body, None),
        ("content.updated", second, {"title": "A", "metadata": {"author": "Ada"}}),
        ("content.archived", third, {"status": "active"}),
        ("content.updated", fourth, {"status": "archived"}),
        ("content.deleted", fourth, None),
    ]


@pytest.mark.parametrize("types", [TYPES, TYPES[::-1]], ids=["as listed", "reversed"])
def test_a_type_with_a_condition_is_sent_wherever_it_stands_in_the_table(types):
    assert [one.name for one in by_action(types)["content.updated"]] == ["content.archived", "content.updated"]


def test_every_action_of_the_table_is_recorded_somewhere():
    """A misspelt action would make a type that is offered and never sent."""
    product = "".join(path.read_text() for path in sources(*PRODUCT) if path.name != "types.py")
    assert [one.name for one in TYPES if one.action and f'"{one.action}"' not in product] == []


def test_policies(api, new):
    first = api.post("/v1/policies", {"name": "A"})
    path = f"/v1/policies/{first['id']}"
    second = api.patch(path, {"name": "B"})
    third = api.post(f"{path}/rollback", {"version": 1})
    api.delete(path)
    assert [told(event) for event in new()] == [
        ("policy.created", first.body, None),
        ("policy.updated", second.body, {"name": "A", "version": 1}),
        ("policy.rolled_back", third.body, {"name": "B", "version": 2}),
        ("policy.deleted", third.body, None),
    ]


def test_licences_and_their_money(api, new):
    body = {"requesterId": "org", "licenseType": "press", "price": {"amount": "2.50", "currency": "EUR"}}
    first = api.post("/v1/licenses", body)
    path = f"/v1/licenses/{first['id']}"
    second = api.patch(path, {"price": {"amount": 3, "currency": "USD"}, "pricePerAccess": None})
    third = api.post(f"{path}/revoke")
    assert [told(event) for event in new()] == [
        ("license.created", first.body, None),
        ("license.updated", second.body, {"price": first["price"]}),
        ("license.revoked", third.body, {"status": "active", "revokedAt": None}),
    ]


def test_events_of_keys_do_not_have_their_text(api, new):
    made = api.post("/v1/api-keys", {"name": "A", "type": "secret"})
    rotated = api.post(f"/v1/api-keys/{made['id']}/rotate", {"overlapSeconds": 60})
    api.delete(f"/v1/api-keys/{rotated['id']}")
    events = new()
    actions = [event.type.removeprefix("api_key.") for event in events]
    assert actions == ["created", "created", "rotated", "revoked"]
    shown = api.get(f"/v1/api-keys/{made['id']}").body
    assert told(events[2]) == ("api_key.rotated", shown, {"expiresAt": None})
    for event in events:
        assert made["key"][13:] not in event.data
        assert rotated["key"][13:] not in event.data


def test_an_adjustment(api, new):
    made = api.post("/v1/revenue", {"amount": "-12.345678", "currency": "EUR"})
    assert told(new()[0]) == ("revenue.adjusted", made.body, None)


def test_many_items_changed_at_once_have_an_event_each(api, account, new):
    items = [factories.content(account) for _ in range(3)]
    change_items(account.pk, [item.pk for item in items], {"status": "archived"})
    assert [event.type for event in new()][3:] == ["content.archived"] * 3


def test_an_import_sends_an_event_for_each_item_and_at_its_end(account, new, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("externalId,title\n1,A\n2,B\n3,\n")
    call_command("import_content", str(file), "--account", account.pk)
    assert [event.type for event in new()] == ["content.created", "content.created", "import.finished"]
    tally = json.loads(new()[2].data)
    assert (tally["object"], tally["created"], tally["failed"], tally["rows"]) == ("content_import", 2, 1, 3)
    assert new()[2].object_id == tally["id"]


def test_replayed_requests_and_changes_of_nothing_have_no_event(api, new):
    for _ in range(2):
        item = api.post("/v1/content", {"title": "A"}, headers={"Idempotency-Key": "k"})
    for body in [{"title": "A"}, {"tags": []}, {"metadata": {"author": None}}]:
        api.patch(f"/v1/content/{item['id']}", body)
    assert len(new()) == 1


def test_rolled_back_changes_send_no_events(api, account, new, monkeypatch):
    factories.endpoint(account)
    monkeypatch.setattr("licensing.content.services.epochs.invalidate", Mock(side_effect=RuntimeError))
    assert api.post("/v1/content", {"title": "A"}).status == 500
    assert (new(), WebhookDelivery.objects.count()) == ([], 0)


def test_the_example_of_each_type_has_the_fields_of_sent_events(api, account, new):
    from accounts.openapi import build_example

    made = factories.webhook(account)
    api.post("/v1/content", {"title": "A"})
    api.post("/v1/policies", {"name": "A"})
    api.post("/v1/licenses", {"requesterId": "org", "licenseType": "press"})
    api.post("/v1/revenue", {"amount": 1, "currency": "EUR"})
    api.post(f"/v1/webhooks/{made['webhook']}/ping")
    sent = {event.type: set(json.loads(event.data)) for event in new()}
    for one in TYPES:
        if one.name in sent:
            assert set(build_example(one)["data"]) == sent[one.name], one.name
    assert set(sent) == {"content.created", "policy.created", "license.created", "revenue.adjusted", "ping"}


EVENTS = {
    "type": (["content.created", "content.updated", "policy.created", "content.created"], EQUALITY),
    "objectId": (["{c}", "{c}", "{p}", "{d}"], EQUALITY),
    "created": (MOMENTS, ORDER),
}


@pytest.fixture
def rows(api, account):
    Event.objects.all().delete()
    known = {"c": factories.content(account).pk}
    api.patch(f"/v1/content/{known['c']}", {"title": "Other"})
    known["p"] = factories.policy(account).pk
    known["d"] = factories.content(account).pk
    for index, event in enumerate(Event.objects.order_by("created", "pk")):
        known[f"row{index}"] = event.pk
        Event.objects.filter(pk=event.pk).update(created=DAYS[index])
    return known


def test_events_can_be_filtered_and_shown(api, rows):
    for name in EVENTS:
        check_filter(api, "/v1/events", EVENTS, name, rows)
    event = api.get(f"/v1/events/{rows['row1']}").body
    assert list(event) == ["id", "object", "type", "created", "data", "previous"]
    assert (event["object"], event["type"], event["created"]) == ("event", "content.updated", MOMENTS[1])
    assert event["data"]["title"] == "Other"
    assert "previous" not in api.get(f"/v1/events/{rows['row0']}").body
    reply = api.get("/v1/events", type="content.creatd")
    assert (reply.status, reply.error["param"]) == (400, "type")


def test_old_events_are_purged_with_their_deliveries(api, account, clock):
    clock.now = datetime.now(UTC)
    made = factories.webhook(account)
    WebhookAttempt.objects.create(
        endpoint_id=made["webhook"], event_id=made["event"], number=1, succeeded=True, reply="", duration_ms=1
    )
    call_command("purge_webhook_events")
    assert Event.objects.filter(pk=made["event"]).exists()
    clock.advance(days=31)
    call_command("purge_webhook_events", "--keep-days", "40")
    assert Event.objects.filter(pk=made["event"]).exists()
    call_command("purge_webhook_events")
    assert (Event.objects.count(), WebhookDelivery.objects.count(), WebhookAttempt.objects.count()) == (0, 0, 0)


def test_a_purge_counts_only_the_events_that_it_deleted_itself(account):
    made = [factories.webhook(account)["event"] for _ in range(2)]
    deletes = 0

    def run(execute, sql, params, many, context):
        nonlocal deletes
        if sql.startswith("DELETE") and f'FROM "{Event._meta.db_table}"' in sql and not deletes:
            deletes += 1
            Event.objects.filter(pk=made[0]).delete()  # as another purge does at this moment
        return execute(sql, params, many, context)

    kept = Event.objects.count()
    with connection.execute_wrapper(run):
        assert purge(timezone.now() + timedelta(days=1)) == kept - 1
    assert not Event.objects.exists()


def test_the_retention_is_a_setting(account, settings, clock):
    clock.now = datetime.now(UTC)
    factories.content(account)
    clock.advance(days=3)
    settings.EVENT_RETENTION_DAYS = 2
    call_command("purge_webhook_events")
    assert not Event.objects.filter(created__lt=timezone.now() - timedelta(days=2)).exists()

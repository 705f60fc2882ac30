"""/v1/webhooks: endpoints, their secrets and actions."""

import logging

import pytest
from django.db import connection

from accounts.events.models import Event
from accounts.models import AuditEntry
from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests import factories
from tests.outbound.addresses import HOSTILE, INSIDE, SPELLINGS
from tests.stored import everything_stored
from tests.webhooks.delivering import bodies, deliver

URL = "https://hooks.example/in"


@pytest.fixture
def made(api):
    return api.post("/v1/webhooks", {"url": URL, "headers": {"Authorization": "Bearer receiver-s3cret"}})


def test_an_endpoint_is_shown_with_its_secret_once_and_sent_back(api, made):
    path = f"/v1/webhooks/{made['id']}"
    assert (made.status, made["secret"][:6], made.headers["Cache-Control"]) == (201, "whsec_", "no-store")
    shown = {name: value for name, value in made.body.items() if name != "secret"}
    assert (shown["object"], shown["url"], shown["events"]) == ("webhook_endpoint", URL, ["*"])
    assert (shown["status"], shown["description"], shown["headerNames"]) == ("enabled", None, ["Authorization"])
    assert api.get(path).body == shown
    assert api.get("/v1/webhooks")["data"] == [shown]
    assert api.patch(path, {"secret": made["secret"], "url": URL}).body == shown
    assert AuditEntry.objects.filter(action="webhook_endpoint.updated").count() == 0
    api.patch(path, {"headers": {"Authorization": "Bearer other"}})
    entry = AuditEntry.objects.get(action="webhook_endpoint.updated")
    assert entry.changes == {"headers": [None, "changed"]}


def test_an_endpoint_changes_field_by_field(api, made):
    path = f"/v1/webhooks/{made['id']}"
    changed = api.patch(path, {"events": ["content.*", "policy.updated", "content.*"], "description": "x"})
    assert (changed["events"], changed["description"]) == (["content.*", "policy.updated"], "x")
    assert api.patch(path, {"headers": {"X-One": "1", "X-Two": "2"}})["headerNames"] == ["X-One", "X-Two"]
    assert api.patch(path, {"headers": None, "description": None})["headerNames"] == []
    assert api.patch(path, {"status": "disabled"})["status"] == "disabled"


def test_invalid_fields_are_refused_by_name(api):
    for body, param in [
        ({"url": "ftp://hooks.example/"}, "url"), ({"events": []}, "events"), ({"events": ["*"] * 51}, "events"),
        ({"events": ["content.creatd"]}, "events[0]"), ({"events": ["*", "nothing.*"]}, "events[1]"),
        ({"events": ["ping"]}, "events[0]"), ({"status": "paused"}, "status"),
        ({"headers": {"Host": "x"}}, "headers.Host"), ({"headers": {"Webhook-Id": "x"}}, "headers.Webhook-Id"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, "headers.X-A"), ({"headers": {"X A": "a"}}, "headers.X A"),
        ({"headers": {"X-A": "a", "x-a": "b"}}, "headers"), ({"description": "x" * 501}, "description"),
    ]:  # fmt: skip
        reply = api.post("/v1/webhooks", {"url": URL, **body})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.post("/v1/webhooks", {}).error["param"] == "url"
    for pattern, meant in [
        ("content.creatd", "content.created"), ("licence.created", "license.created"), ("wallet.*s", "wallet.*"),
        ("content.deleted.", "content.deleted"),
    ]:  # fmt: skip
        reply = api.post("/v1/webhooks", {"url": URL, "events": [pattern]})
        assert reply.error["message"].endswith(f"Did you mean `{meant}`?")


@pytest.mark.parametrize("url", [
    "http://hooks.example/", "https://hooks.example:8443/", "https://127.0.0.1/", "https://[::1]/",
    "https://u:p@hooks.example/", "https://169.254.169.254/",
])  # fmt: skip
def test_private_addresses_are_allowed_by_a_setting(api, settings, url):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    reply = api.post("/v1/webhooks", {"url": url})
    assert (reply.status, reply.error["param"]) == (422, "url")
    assert ("WEBHOOKS_ALLOW_PRIVATE=on" in reply.error["message"]) == ("@" not in url)
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    assert api.post("/v1/webhooks", {"url": url}).status == (422 if "@" in url else 201)


def test_a_hostile_url_is_refused_on_creation_and_on_change(api, made, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    for url in (*HOSTILE, *SPELLINGS, *INSIDE):
        body = {"url": url.format(port=443)}
        for reply in (api.post("/v1/webhooks", body), api.patch(f"/v1/webhooks/{made['id']}", body)):
            assert (url, reply.status, reply.body.get("error", {}).get("param")) == (url, 422, "url")
    assert list(WebhookEndpoint.objects.values_list("url", flat=True)) == [URL]


@pytest.mark.slow
def test_a_hostile_url_that_was_stored_is_not_connected_to(account, settings):
    from tests.outbound.receivers import receiver

    settings.WEBHOOKS_ALLOW_PRIVATE = False
    with receiver() as inside:
        for url in HOSTILE:
            endpoint, _ = factories.endpoint(account)
            WebhookEndpoint.objects.update(url=url.format(port=inside.port))
            factories.content(account)
            [result] = deliver()
            assert (result.status, bool(result.error)) == (None, True)
            endpoint.delete()
        assert inside.connections == 0


def test_an_account_has_at_most_50_endpoints(api, account):
    for _ in range(50):
        factories.endpoint(account)
    reply = api.post("/v1/webhooks", {"url": URL})
    assert (reply.status, reply.error["param"]) == (422, "url")
    assert "50" in reply.error["message"]


def test_deleting_an_endpoint_deletes_its_waiting_deliveries(api, account, made):
    factories.content(account)
    assert api.delete(f"/v1/webhooks/{made['id']}").body == {
        "id": made["id"], "object": "webhook_endpoint", "deleted": True
    }  # fmt: skip
    assert api.get(f"/v1/webhooks/{made['id']}").status == 404
    assert WebhookDelivery.objects.count() == 0
    assert Event.objects.filter(type="content.created").exists()


def test_secrets_and_headers_are_nowhere_in_the_clear(api, account, made, caplog):
    caplog.set_level(logging.DEBUG)
    connection.force_debug_cursor = True
    try:
        rotated = api.post(f"/v1/webhooks/{made['id']}/rotate", headers={"Idempotency-Key": "k"})
        replayed = api.post(f"/v1/webhooks/{made['id']}/rotate", headers={"Idempotency-Key": "k"})
        api.post(f"/v1/webhooks/{made['id']}/ping")
        api.patch(f"/v1/webhooks/{made['id']}", {"headers": {"X-Key": "receiver-s3cret-2"}})
        deliver()
    finally:
        connection.force_debug_cursor = False
    assert replayed.content == rotated.content
    assert replayed.headers["Cache-Control"] == rotated.headers["Cache-Control"] == "no-store"
    assert made["secret"] != rotated["secret"]
    stored = everything_stored()
    seen = [stored, caplog.text.encode()]
    seen += [
        api.get(path).content for path in ("/v1/webhooks", f"/v1/webhooks/{made['id']}", "/v1/events", "/v1/audit")
    ]
    for secret in (made["secret"][6:], rotated["secret"][6:], "receiver-s3cret"):
        for where in seen:
            assert secret.encode() not in where
    endpoint = WebhookEndpoint.objects.get()
    assert made["secret"][6:] not in repr(endpoint) + str(endpoint)


def test_an_event_goes_to_no_endpoint_of_another_account(api, account, made, other_account):
    factories.endpoint(account)
    event = api.post(f"/v1/webhooks/{made['id']}/ping").body
    assert (event["object"], event["type"], event["data"]["id"]) == ("event", "ping", made["id"])
    assert "secret" not in event["data"]
    [waiting] = WebhookDelivery.objects.all()
    assert (waiting.event_id, waiting.endpoint_id) == (event["id"], made["id"])
    theirs, _ = factories.endpoint(other_account)
    event = factories.webhook(account)["event"]
    reply = api.post(f"/v1/events/{event}/redeliver", {"webhookId": theirs.pk})
    assert (reply.status, reply.error["param"]) == (422, "webhookId")


def test_only_subscribed_events_are_queued(api, account):
    patterns = [["*"], ["content.*"], ["content.created", "policy.created"], ["license.*"]]
    for events in patterns:
        factories.endpoint(account, events=events)
    factories.endpoint(factories.account())
    factories.content(account)
    heard = WebhookDelivery.objects.filter(event__type="content.created")
    assert sorted(one.endpoint.events for one in heard) == patterns[:3]


def test_nothing_waits_for_a_disabled_endpoint(api, account, made):
    factories.content(account)
    api.patch(f"/v1/webhooks/{made['id']}", {"status": "disabled"})
    factories.content(account)
    assert not WebhookDelivery.objects.filter(due_at__isnull=False).exists()


def test_an_event_is_delivered_once_more_also_to_a_disabled_endpoint(api, account):
    from tests.outbound.receivers import receiver

    with receiver() as there:
        endpoint, _ = factories.endpoint(account, url=f"http://127.0.0.1:{there.port}/", events=["policy.*"])
        factories.content(account)
        event = api.get("/v1/events", type="content.created")["data"][0]
        api.patch(f"/v1/webhooks/{endpoint.pk}", {"status": "disabled"})
        for _ in range(2):
            assert api.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint.pk}).body == event
            deliver()
        assert [body["id"] for body in bodies(there.requests)] == [event["id"]] * 2

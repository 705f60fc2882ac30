import re

import pytest
from django.urls import reverse

from accounts.events.models import Event
from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import submit
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, bodies, deliver

ADD, ALL = (reverse(f"admin:accounts_webhookendpoint_{name}") for name in ("add", "changelist"))


def shown_secrets(reply):
    return re.findall(r"whsec_[A-Za-z0-9+/=]{20,}", reply.content.decode())


def act(client, endpoint, action, **fields):
    return submit(client, reverse(f"admin:accounts_webhookendpoint_{action}", args=[endpoint.pk]), **fields)


def test_an_operator_makes_pings_and_replays(admin, account, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    replies = iter([answering(500, body=b"broken"), answering(200), answering(200)])
    with receiver(lambda connection, _: connection.sendall(next(replies))) as there:
        url = f"http://127.0.0.1:{there.port}/"
        made = submit(admin, ADD, account=account.pk, url=url, events="content.*\r\npolicy.created")
        assert len(shown_secrets(made)) == 1
        assert "no-store" in made.headers["Cache-Control"]
        endpoint = WebhookEndpoint.objects.get()
        assert (endpoint.url, endpoint.events) == (url, ["content.*", "policy.created"])

        settings.WEBHOOK_RETRY_SCHEDULE = [0]
        item = factories.content(account)
        deliver()
        shown = admin.get(change_url(endpoint)).content.decode()
        assert "content.created" in shown
        assert "failed: 500" in shown
        assert "broken" in shown
        assert "Webhooks that fail" in admin.get(reverse("admin:index")).content.decode()
        assert "failing" in admin.get(ALL, {"health": "failing"}).content.decode()

        assert act(admin, endpoint, "replay").status_code == 302
        deliver()
        assert act(admin, endpoint, "ping").status_code == 302
        deliver()
        sent = bodies(there.requests)
        assert [body["type"] for body in sent] == ["content.created", "content.created", "ping"]
        assert sent[1]["id"] == sent[0]["id"]
        assert sent[1]["data"]["id"] == item.pk
        assert "Webhooks that fail" not in admin.get(reverse("admin:index")).content.decode()
        assert "delivered (200)" in admin.get(change_url(endpoint)).content.decode()


def replay_page(admin, endpoint, **query):
    return admin.get(reverse("admin:accounts_webhookendpoint_replay", args=[endpoint.pk]), query).content.decode()


def waiting():
    return WebhookDelivery.objects.filter(due_at__isnull=False).count()


def test_a_replay_shows_the_number_of_failed_events_with_the_first_and_the_last(admin, account):
    for _ in range(3):
        factories.content(account)
    endpoint, _ = factories.endpoint(account, events=["content.*"])
    assert "No delivery to this endpoint failed or waits for a retry." in replay_page(admin, endpoint)
    items = [factories.content(account) for _ in range(2)]
    WebhookDelivery.objects.update(state="failed", due_at=None)
    shown = replay_page(admin, endpoint)
    assert "Send 2 events" in shown
    for item in items:
        assert Event.objects.get(object_id=item.pk).pk in shown
    assert act(admin, endpoint, "replay").status_code == 302
    assert waiting() == 2


def test_a_replay_from_a_start_time_asks_again_with_its_number(admin, account):
    for _ in range(3):
        factories.content(account)
    endpoint, _ = factories.endpoint(account, events=["content.*"])
    asked = act(admin, endpoint, "replay", since_0="2020-01-01", since_1="00:00")
    assert (asked.status_code, waiting()) == (302, 0)
    shown = admin.get(asked.url).content.decode()
    assert "Send 3 events" in shown
    assert "from 2020-01-01 00:00 UTC on" in shown
    assert submit(admin, asked.url).url == change_url(endpoint)
    assert waiting() == 3


def test_a_new_secret_is_shown_once_and_disabled_endpoints_replay_nothing(admin, account):
    endpoint, old = factories.endpoint(account)
    [new] = shown_secrets(act(admin, endpoint, "rotate"))
    assert new != old
    assert shown_secrets(admin.get(change_url(endpoint))) == []
    endpoint, _ = factories.endpoint(account, status="disabled")
    assert "Enable it first" in replay_page(admin, endpoint)
    assert "Enable it first" in act(admin, endpoint, "replay").content.decode()


def test_after_a_changed_pepper_its_pages_say_what_to_set_again(admin, account, settings):
    endpoint, _ = factories.endpoint(account, headers={"Authorization": "Bearer receiver-s3cret"})
    settings.API_KEY_PEPPER = b"another"
    assert admin.get(ALL).status_code == 200
    assert "Authorization: cannot be read" in admin.get(change_url(endpoint)).content.decode()
    assert submit(admin, change_url(endpoint), status="disabled").status_code == 302
    rotate = reverse("admin:accounts_webhookendpoint_rotate", args=[endpoint.pk])
    assert "only the new one signs" in admin.get(rotate).content.decode()
    rotated = submit(admin, rotate)
    assert len(shown_secrets(rotated)) == 1
    assert "For 24 hours" not in rotated.content.decode()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://127.0.0.1/", "public addresses"),
        ("https://127.1/", "four decimal numbers"),
        ("https://localhost/", "must be a public name"),
    ],
)
def test_a_url_inside_is_refused_at_its_field(admin, account, url, words):
    assert words in submit(admin, ADD, account=account.pk, url=url, events="*").content.decode()
    assert not WebhookEndpoint.objects.exists()
    endpoint, _ = factories.endpoint(account)
    assert words in submit(admin, change_url(endpoint), url=url).content.decode()
    assert WebhookEndpoint.objects.get().url == endpoint.url


def test_endpoints_are_disabled_and_take_known_events(admin, account):
    endpoint, _ = factories.endpoint(account)
    factories.content(account)
    assert submit(admin, change_url(endpoint), status="disabled").status_code == 302
    assert WebhookEndpoint.objects.get().status == "disabled"
    assert not WebhookDelivery.objects.filter(due_at__isnull=False).exists()
    reply = submit(admin, change_url(endpoint), events="content.creatd")
    assert reply.status_code == 200
    assert "Must be *" in reply.content.decode()

    endpoint, _ = factories.endpoint(account)
    assert "have to be named above" in admin.get(change_url(endpoint)).content.decode()
    narrowed = {"reasons": ["no_license"], "requesterIds": ["org_a", "org_b"]}
    endpoint, _ = factories.endpoint(account, events=["access.denied"], access_filter=narrowed)
    shown = admin.get(change_url(endpoint)).content.decode()
    assert "access.denied only of the reasons no_license and the customers org_a, org_b" in shown

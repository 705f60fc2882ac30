"""Webhook delivery: requests and retries."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from accounts.events.models import Event
from accounts.webhooks import queue, services
from accounts.webhooks.models import DeliveryState, WebhookDelivery
from accounts.webhooks.secrets import Secret
from accounts.webhooks.sending import build_request, hide_secrets, parse_retry_after
from tests import factories
from tests.examples import examples
from tests.outbound.receivers import receiver
from tests.stored import everything_stored
from tests.webhooks.delivering import answering, attempts, claim, deliver, endpoint_at, parts, waiting

SCHEDULE = [0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]


def test_the_vector_of_the_specification_and_retry_after_are_read():
    moment = datetime.fromtimestamp(1614265330, UTC)
    secret = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", moment, '{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert parse_retry_after(" 7 ", now) == timedelta(seconds=7)
    assert parse_retry_after("Wed, 04 Mar 2026 05:06:17 GMT", now) == timedelta(seconds=10)
    for text in (None, "", "x", "1.5", "Wed, 04 Mar 2026 05:06:07 GMT", "9" * 10):
        assert parse_retry_after(text, now) is None


def test_the_event_is_sent_with_its_timestamp_under_its_id(api, account, there):
    _, secret = endpoint_at(there, account, headers={"X-Auth": "of the receiver"})
    item = factories.content(account)
    deliver()
    [request] = there.requests
    headers, body = parts(request)
    event = api.get("/v1/events", type="content.created")["data"][0]
    assert request.startswith(b"POST /in?a=b HTTP/1.1\r\n")
    assert json.loads(body) == {**event, "timestamp": event["created"]}
    assert headers["webhook-id"] == event["id"]
    assert headers["content-type"] == "application/json"
    assert headers["x-auth"] == "of the receiver"
    assert event["data"]["id"] == item.pk
    assert Webhook(secret).verify(body, headers)["id"] == event["id"]


def test_a_receiver_refuses_one_changed_byte_another_secret_and_an_old_timestamp(account, there):
    _, secret = endpoint_at(there, account)
    factories.content(account)
    deliver()
    headers, body = parts(there.requests[0])
    other = factories.endpoint(account)[1]
    for refused in (
        lambda: Webhook(secret).verify(body.replace(b"content.created", b"content.createe"), headers),
        lambda: Webhook(secret).verify(body, {**headers, "webhook-id": "evt_other"}),
        lambda: Webhook(other).verify(body, headers),
    ):
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            refused()
    event = Event.objects.get(type="content.created")
    then = timezone.now() - timedelta(minutes=5, seconds=1)
    headers, body = build_request(event, [Secret(secret, None)], then)
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(secret).verify(body, headers)


def test_after_a_rotation_both_secrets_sign_for_24_hours(account, there, clock):
    endpoint, old = endpoint_at(there, account)
    _, new = services.rotate_secret(endpoint)
    for hours, count in ((0, 2), (24, 1)):
        clock.advance(hours=hours)
        factories.content(account)
        deliver()
        headers, body = parts(there.requests[-1])
        moment = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        expected = [Webhook(one).sign(headers["webhook-id"], moment, body.decode()) for one in (new, old)]
        assert headers["webhook-signature"].split(" ") == expected[:count]


def test_each_attempt_is_signed_anew_under_the_same_id_until_one_succeeds(account, clock):
    replies = iter([answering(500)])
    with receiver(lambda connection, _: connection.sendall(next(replies, answering(200)))) as there:
        endpoint_at(there, account)
        factories.content(account)
        deliver()
        clock.advance(minutes=1)
        deliver()
        clock.advance(days=3)
        deliver()
        first, second = (parts(request)[0] for request in there.requests)
    assert waiting().state == DeliveryState.DELIVERED
    assert first["webhook-id"] == second["webhook-id"]
    assert int(second["webhook-timestamp"]) == int(first["webhook-timestamp"]) + 60
    assert first["webhook-signature"] != second["webhook-signature"]


@pytest.mark.parametrize("status", [500, 302, 404, 199 + 101])
def test_a_failure_is_tried_again_by_the_schedule_and_then_given_up(account, clock, status):
    with receiver(answering(status, "Location: http://127.0.0.1:1/")) as there:
        endpoint_at(there, account)
        factories.content(account)
        for number, delay in enumerate(SCHEDULE):
            if number:
                assert delay <= (waiting().due_at - clock.now).total_seconds() <= delay * 1.1
            clock.now = max(clock.now, waiting().due_at)
            assert len(deliver()) == 1
        assert (waiting().due_at, waiting().state, waiting().attempts) == (None, DeliveryState.FAILED, 10)
        assert there.connections == 10


def test_a_setting_replaces_the_schedule(account, clock, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0, 1]
    with receiver(answering(500)) as there:
        endpoint_at(there, account)
        factories.content(account)
        deliver()
        assert deliver() == []
        clock.advance(seconds=1.1)
        deliver()
        assert waiting().state == DeliveryState.FAILED


@pytest.mark.parametrize(("header", "seconds"), [
    ("120", 120), ("Wed, 04 Mar 2026 05:08:07 GMT", 119.75), ("9999999", 86_400), ("soon", 5), ("-1", 5),
])  # fmt: skip
def test_an_endpoint_that_says_when_is_left_alone_until_then(account, clock, header, seconds):
    with receiver(answering(503, f"Retry-After: {header}")) as there:
        endpoint_at(there, account)
        factories.content(account)
        factories.content(account)
        queue.settle(attempts(claim(1)))
        held = WebhookDelivery.objects.get(attempts=1)
        assert seconds <= (held.due_at - clock.now).total_seconds() <= seconds * 1.1
        assert claim() == []  # the other event waits, too
        clock.advance(seconds=min(max(seconds, 30), 86_400))
        assert len(claim()) >= 1


NUMBERS = st.integers() | st.integers(-100, 10_000)
DATES = st.builds(
    "{}, {:02} {} {:04} {:02}:{:02}:{:02} {}".format,
    st.sampled_from(["Mon", "Sunday", "x"]),
    NUMBERS,
    st.sampled_from(["Jan", "Feb", "Smarch"]),
    *[NUMBERS] * 4,
    st.sampled_from(["GMT", "EST"]) | st.builds("{:+05}".format, NUMBERS),
)


@given(st.text(st.characters(codec="latin-1")) | DATES | NUMBERS.map(str))
@settings(max_examples=examples(2_000), deadline=None)
def test_any_retry_after_is_a_time_to_wait_or_nothing(text):
    wait = parse_retry_after(text, datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC))
    assert wait is None or wait >= timedelta(0)


@pytest.mark.parametrize("header", [
    "Mon, 99999999999 Jan 2026 00:00:00 GMT", "Mon, 01 Jan 2026 00:00:00 +99999999999999",
    "Fri, 31 Dec 9999 23:59:59 GMT",
])  # fmt: skip
def test_a_delivery_is_recorded_with_any_retry_after(account, header):
    with receiver(answering(200, f"Retry-After: {header}")) as there:
        endpoint_at(there, account)
        factories.content(account)
        deliver()
        assert (waiting().state, deliver(), there.connections) == (DeliveryState.DELIVERED, [], 1)


def test_an_unreachable_endpoint_is_a_failure_with_its_reason(api, account):
    with receiver() as gone:
        pass
    endpoint, _ = endpoint_at(gone, account)
    factories.content(account)
    deliver()
    [shown] = api.get(f"/v1/webhooks/{endpoint.pk}/deliveries")["data"]
    assert (shown["succeeded"], shown["status"], shown["attempt"]) == (False, None, 1)
    assert "Connect" in shown["error"]
    assert shown["nextAttempt"] > shown["created"]


def test_each_attempt_can_be_read(api, account):
    long = b"x" * 3_000 + b"\0\xff"
    with receiver(answering(500, body=b"\0\xff" + long)) as there:
        endpoint, _ = endpoint_at(there, account)
        factories.content(account)
        deliver()
    [shown] = api.get(f"/v1/webhooks/{endpoint.pk}/deliveries")["data"]
    event = api.get("/v1/events", type="content.created")["data"][0]
    assert (shown["object"], shown["webhookId"], shown["eventId"]) == ("webhook_delivery", endpoint.pk, event["id"])
    assert (shown["eventType"], shown["status"], shown["succeeded"]) == ("content.created", 500, False)
    assert shown["response"] == "��" + "x" * 1022
    assert shown["durationMs"] >= 0
    assert api.get(f"/v1/webhooks/{endpoint.pk}/deliveries", succeeded="true")["data"] == []
    assert len(api.get(f"/v1/webhooks/{endpoint.pk}/deliveries", eventId=event["id"])["data"]) == 1


def test_a_receiver_that_repeats_its_headers_has_them_kept_nowhere(account):
    def repeat(connection, request):
        connection.sendall(answering(401, body=request.partition(b"\r\n\r\n")[0]))

    with receiver(repeat) as there:
        endpoint_at(there, account, headers={"Authorization": "Bearer receiver-s3cret", "X-Zone": "eu"})
        factories.content(account)
        [result] = deliver()
    assert b"receiver-s3cret" in there.requests[0]
    assert "authorization: [hidden]" in result.reply.lower()
    assert b"receiver-s3cret" not in everything_stored()


def test_values_of_eight_characters_or_more_are_hidden_in_replies_and_shorter_ones_are_words():
    body = b"zone: eu-west token: s3cret78"
    assert hide_secrets(body, {"X-Token": "s3cret78", "X-Zone": "eu-west"}) == b"zone: eu-west token: [hidden]"

"""Upcoming and past ends are reported once each (docs/guides/webhooks.md)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from accounts.events import deadlines, retention
from accounts.events.models import EndNotice, Event
from accounts.keys import services as accounts
from accounts.webhooks.models import WebhookDelivery
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license, update_license
from tests import factories


@pytest.fixture(autouse=True)
def _now(clock):
    clock.now = datetime.now(UTC)


def told(clock):
    """Return type and object of the events about ends."""
    deadlines.write_all_due_events()
    deadlines.write_all_due_events()  # once is enough
    ended = Event.objects.filter(type__in=["api_key.expiring", "license.expiring", "license.expired"])
    return [(event.type, event.object_id) for event in ended.order_by("pk")]


def test_expiring_keys_send_events_seven_days_and_one_day_before(account, clock):
    key, _ = factories.api_key(account, expires_at=clock.now + timedelta(days=30))
    factories.api_key(account)
    expected = []
    for days, is_told in ((0, False), (22, False), (1, True), (5, False), (1, True), (1, False)):
        clock.advance(days=days, seconds=1)
        expected += [("api_key.expiring", key.pk)] * is_told
        assert told(clock) == expected


def test_expiring_licences_send_events_before_and_at_their_end(account, clock):
    held = factories.license(account, expires_at=clock.now + timedelta(days=30))
    factories.license(account, "org_other")
    factories.endpoint(account, events=["license.expired"])
    expected = []
    for days, name in ((23, "expiring"), (6, "expiring"), (1, "expired"), (30, None)):
        clock.advance(days=days, seconds=1)
        expected += [(f"license.{name}", held.pk)] * bool(name)
        assert told(clock) == expected
    event = Event.objects.get(type="license.expired")
    assert json.loads(event.data)["status"] == "expired"
    assert [one.event_id for one in WebhookDelivery.objects.all()] == [event.pk]


def test_a_changed_end_sends_events_again(account, clock):
    held = factories.license(account, expires_at=clock.now + timedelta(days=30))
    clock.advance(days=24)
    assert len(told(clock)) == 1
    update_license(held, {"expires_at": clock.now + timedelta(days=20)})
    assert len(told(clock)) == 1
    clock.advance(days=14)
    assert len(told(clock)) == 2


def test_terms_too_short_ended_or_revoked_send_no_events(account, clock):
    revoked, _ = factories.api_key(account, expires_at=clock.now + timedelta(days=10))
    accounts.revoke_api_key(revoked)
    revoke_license(factories.license(account, expires_at=clock.now + timedelta(days=10)))
    factories.api_key(account, expires_at=clock.now + timedelta(hours=12))
    factories.license(account, expires_at=clock.now + timedelta(hours=12))
    assert told(clock) == []
    factories.license(account, expires_at=clock.now + timedelta(days=10))
    clock.advance(days=14)
    assert told(clock) == []


def test_a_term_of_less_than_seven_days_is_announced_only_a_day_before_its_end(account, clock):
    held = factories.license(account, expires_at=clock.now + timedelta(days=5))
    assert told(clock) == []
    clock.advance(days=4, seconds=1)
    assert told(clock) == [("license.expiring", held.pk)]


def test_events_are_sent_for_more_than_one_chunk(account, clock, monkeypatch):
    monkeypatch.setattr(deadlines, "CHUNK_ROWS", 2)
    ends = clock.now + timedelta(days=30)
    held = {factories.license(account, f"org_{n}", expires_at=ends).pk for n in range(5)}
    clock.advance(days=24)
    assert {pk for _, pk in told(clock)} == held


def test_notes_go_with_the_events(account, clock):
    factories.license(account, expires_at=clock.now + timedelta(days=30))
    clock.advance(days=24)
    told(clock)
    retention.purge(clock.now)
    assert EndNotice.objects.count() == 1
    clock.advance(days=40)
    retention.purge(clock.now)
    assert (EndNotice.objects.count(), License.objects.count()) == (0, 1)

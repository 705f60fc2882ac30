"""Events, webhooks and the audit log: each change once, to every subscriber."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from tests.world.machines import Delivery
from tests.world.model import happenings
from tests.world.model.expected import Expected

OF_CHANGES = ("content.", "policy.", "api_key.", "license.", "revenue.")
OF_TIME = ("license.expiring", "license.expired", "api_key.expiring")
RECEIVERS = {"who hears of everything": 0, "who was down for three days": 1}
HEARD = [("*",), ("license.", "revenue.adjusted", "access.denied")]

every_receiver = pytest.mark.parametrize("number", RECEIVERS.values(), ids=RECEIVERS)


def test_every_change_left_one_event_and_nothing_else_did(month: Expected) -> None:
    found = Counter(
        (event["type"], event["data"]["id"])
        for event in month.rows("events")
        if event["type"].startswith(OF_CHANGES) and event["type"] not in OF_TIME
    )
    assert found == happenings.changes(month.diary)


def test_every_change_left_one_entry_in_the_audit_log_and_nothing_else_did(month: Expected) -> None:
    found = Counter((row["action"], row["resourceId"], row["actorType"]) for row in month.rows("audit log"))
    assert found == happenings.audited(month.diary)


def test_every_licence_that_ended_was_told_of_a_week_and_a_day_before_and_at_its_end(month: Expected) -> None:
    found = [(row["type"], row["data"]["id"]) for row in month.rows("events") if row["type"] in OF_TIME[:2]]
    assert sorted(found) == sorted(happenings.license_ends(month.diary, month.now))


def received(month: Expected, number: int) -> list[Delivery]:
    found: list[Delivery] = month.found["received"][number]
    return found


def heard(number: int, type_: str) -> bool:
    wanted = HEARD[number]
    return type_.startswith(wanted) if wanted != ("*",) else not type_.startswith("access.")


@every_receiver
def test_every_receiver_got_every_event_that_it_asked_for(month: Expected, number: int) -> None:
    taken = {one.headers["webhook-id"] for one in received(month, number) if one.status == 200}
    since = month.found["webhooks"][number]["created"]  # no event from before the endpoint existed, not even by replay
    events = [event for event in month.rows("events") if event["created"] >= since]
    expected = {event["id"] for event in events if heard(number, event["type"])}
    assert taken == expected


@every_receiver
def test_every_delivery_says_what_the_event_says(month: Expected, number: int) -> None:
    events = {event["id"]: event for event in month.rows("events")}
    for one in received(month, number):
        body: dict[str, Any] = json.loads(one.body, parse_float=Decimal)
        event = events[body["id"]]
        for person in month.diary.erased:  # deliveries before the erasure still contain the data
            if person.former.encode() in one.body:
                body = person.forgotten(body)
        assert body == {**event, "timestamp": event["created"]}


@every_receiver
def test_every_delivery_is_signed_for_its_receiver(month: Expected, number: int) -> None:
    secret = b64decode(month.found["webhooks"][number]["secret"].removeprefix("whsec_"))
    for one in received(month, number):
        signed = f"{one.headers['webhook-id']}.{one.headers['webhook-timestamp']}.".encode() + one.body
        signature = b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
        assert f"v1,{signature}" in one.headers["webhook-signature"].split()
        # the clock may have moved during the delivery
        assert int(one.headers["webhook-timestamp"]) <= one.at + 1


def test_every_denial_is_in_the_summary_of_its_minute(month: Expected) -> None:
    told = [event for event in month.rows("events") if event["type"] == "access.denied"]
    assert happenings.summed(told) == happenings.denials(month.recorded)

"""The month, day by day: traffic, changes during it, and the nights."""

import os
import pickle
import time
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.world.actors import (
    access_log,
    bookkeeper,
    customer_desk,
    licensees,
    nightly,
    office,
    operator,
    prepaid,
    sales,
)
from tests.world.evidence import after_the_purge, archived, gather, traces_of
from tests.world.founding import found
from tests.world.machines import machines
from tests.world.publisher import ADA, BEGINS, FORMER, IS_WHOLE, KEPT, ZONE
from tests.world.traffic import Traffic
from tests.world.world import World

DAYS = 31
SIZE = float(os.environ.get("WORLD_SIZE") or (0.5 if IS_WHOLE else 0.2))
# The short month skips days. What was planned for them happens on the next one, which is no day of a kill.
LIVED = range(DAYS) if IS_WHOLE else (0, 1, 2, 5, 6, 7, 9, 11, 12, 13, 16, 17, 21, 23, 24, 30)
KILLS = {6, 20}
ROLLED_BACK = 18
RECEIVER_FAILS, RECEIVER_RECOVERS = 9, 12
WALLETS_OPEN, WALLETS_ARE_FILLED = 2, 17  # the first kill, of day 6, is in between, the second after it
LOG_IS_IMPORTED = 13  # a Sunday, so that reports are compared with decisions in the same night
CUSTOMERS_ARRIVE, CUSTOMERS_MERGE, ADA_IS_ERASED = 1, 22, 24
REFUNDS = {9: ADA, 11: FORMER, 23: KEPT}

Deed = Callable[[], object]


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(BEGINS.year, BEGINS.month, BEGINS.day, hour, minute, second, tzinfo=UTC) + timedelta(days=day)


# Traffic across midnight, at these hours of UTC. Day 16 is the end of the month in Berlin, then that of the embargo.
END_IN_BERLIN = datetime(BEGINS.year, BEGINS.month, 31, 23, tzinfo=ZONE).astimezone(UTC).hour
ACROSS_MIDNIGHT = {4: [23], 16: [END_IN_BERLIN, 23], 25: [23]}


def day_of(day: int) -> date:
    return at(day, 0).date()


STARK = {"price_amount": "250.50", "price_currency": "EUR", "access_amount": "0.04", "access_currency": "USD"}


def at_desk(deed: Callable[..., object], *what: str, **fields: str) -> Callable[[World], object]:
    """Run Anna's actions in the admin."""
    return lambda world: deed(world, operator.Desk(world), *what, **fields)


def of(requester: str, deed: Callable[..., object], **fields: Any) -> Callable[[World], object]:
    """Return a deed on the requester's first licence."""
    return lambda world: deed(world, sales.license_of(world, requester), **fields)


def of_at_desk(requester: str, deed: Callable[..., object]) -> Callable[[World], object]:
    return lambda world: deed(world, operator.Desk(world), sales.license_of(world, requester))


# Single actions during a day's traffic, each by a separate person.
PLAN: dict[int, list[Callable[[World], object]]] = {
    2: [at_desk(operator.enforce_site)],
    3: [at_desk(operator.issue_license, "org_stark", "commercial", **STARK)],
    4: [prepaid.take_back],
    5: [at_desk(operator.type_a_name)],
    6: [bookkeeper.take_instalment],
    7: [office.rotate_key],
    8: [of_at_desk("org_acme", operator.refund_in_parts)],
    10: [customer_desk.synchronise],
    11: [office.stall_service],
    12: [of("org_umbrella", sales.revoke)],
    13: [
        of("org_globex", sales.change, pricePerAccess=("0.065", "USD")),
        of("org_piper", sales.change, price=("25", "JPY")),
    ],
    14: [bookkeeper.take_advance],
    15: [bookkeeper.take_from_ada],
    16: [bookkeeper.refund_in_two_parts],
    ROLLED_BACK: [lambda world: office.roll_back_policy(world, "changing", 2)],
    19: [at_desk(operator.archive_item, "item-0011"), of_at_desk("sub-001", operator.revoke_license)],
    20: [bookkeeper.pay_out],
    21: [office.book_by_hand],
    22: [office.renew],
    25: [bookkeeper.take_from_merged],
    26: [of("org_vandelay", sales.revoke)],
    27: [at_desk(bookkeeper.take_cheque)],
    30: [bookkeeper.settle],
}


def deeds(world: World, day: int, before: int | None) -> list[Deed]:
    """Return the day's deeds: each day includes publishing, the bank's file, and the daily policy change.

    What was planned for skipped days is done by one person, in order.
    """
    daily = [partial(office.publish, world, day, before), partial(bookkeeper.take_in, world, day)]
    if ROLLED_BACK not in (*skipped_days(day, before), day):
        daily.append(partial(office.toggle_policy, world, day % 2 == 0))
    late = [partial(deed, world) for skipped in skipped_days(day, before) for deed in PLAN.get(skipped, [])]
    return [*daily, partial(in_order, late), *(partial(deed, world) for deed in PLAN.get(day, []))]


def skipped_days(day: int, before: int | None) -> range:
    return range(day if before is None else before + 1, day)


def in_order(deeds: Iterable[Deed]) -> None:
    for deed in deeds:
        deed()


def prepare(world: World, day: int) -> None:
    """Run what is planned for before a day's traffic."""
    if day == 9:
        office.expect_old_key(world, 401, "the old key ends with the overlap")
    if day == WALLETS_OPEN:
        prepaid.open_wallets(world)
    if day == WALLETS_ARE_FILLED:
        prepaid.top_up(world)
    if day == CUSTOMERS_ARRIVE:
        customer_desk.arrive(world)
    if day in REFUNDS:
        customer_desk.refund_accesses(world, REFUNDS[day])
    if day == CUSTOMERS_MERGE:
        customer_desk.merge(world)
    if day == ADA_IS_ERASED:
        customer_desk.erase(world)
    second = world.machines.receivers[1]
    if day == RECEIVER_FAILS:
        second.status = 503
    if day == RECEIVER_RECOVERS:
        second.status = 200
        operator.replay(world, operator.Desk(world), world.webhooks[1])


def live(world: World, report: Callable[[str], object]) -> None:
    found(world)
    report("founded")
    before = None
    for day in LIVED:
        if day:
            world.clock.move_to(at(day, 8))
        licensees.show_former_token(world)
        for planned in (*skipped_days(day, before), day):
            prepare(world, planned)
        Traffic(world, day).run(deeds(world, day, before), kill=day in KILLS)
        for hour in ACROSS_MIDNIGHT.get(day, []):
            world.clock.move_to(at(day, hour, 59, 59))
            Traffic(world, day, share=0.5 / len(ACROSS_MIDNIGHT[day])).run()
        world.clock.move_to(at(day + 1, 2))
        if day == LOG_IS_IMPORTED:  # before the warehouse takes over the day's decisions
            access_log.take_in(world, day_of(day))
        nightly.work(world, [day_of(one) for one in (*skipped_days(day, before), day)])
        report(f"{day_of(day)} is over")
        before = day
    settle(world)


def settle(world: World) -> None:
    """Wait until all webhook receivers got the last event."""
    for _ in range(3):  # retries are due later
        world.clock.advance(hours=6)
        world.run("deliver_webhooks", "--until-idle")

    def received() -> int:
        return sum(len(receiver.deliveries) for receiver in world.machines.receivers)

    quiet, before = 0, -1
    while quiet < 4:
        quiet, before = (quiet + 1, before) if received() == before else (0, received())
        time.sleep(0.5)  # nothing tells that no further delivery comes


def keep_record(record: Path, place: Path) -> None:
    """Run the month with the service's files in `place`, and write the evidence to a file."""
    began = time.monotonic()

    def report(what: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)

    with machines(place, BEGINS, report) as started:
        world = World(started, SIZE, SIZE * len(LIVED) / DAYS)
        live(world, report)
        found = gather(world)
        found["traces"] = traces_of(world, found, customer_desk.TRACES)
        world.diary.forget()
        found["archive"] = archived(world)
        found["purged"] = after_the_purge(world)
        found["archive after the purge"] = archived(world)
        report("gathered")
    draft = record.with_suffix(".draft")
    draft.write_bytes(pickle.dumps((world.diary, found)))
    draft.rename(record)

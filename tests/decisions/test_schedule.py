"""The schedule condition: when it holds, when that changes, and invalid values."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kit.values.faults import Fault
from licensing.policies.conditions import CONDITIONS
from licensing.policies.matching.schedule_text import clause_of_schedule, read_schedule, text_of_schedule
from licensing.policies.matching.schedules import CONDITION_RULE, DAYS, parse_schedule
from licensing.policies.rules import parse_rules
from tests.decisions import naive
from tests.examples import examples

WORK = {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "18:00", "timeZone": "Europe/Berlin"}
NIGHT = {"days": ["fri"], "from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}
BERLIN = {"timeZone": "Europe/Berlin"}


def covers(outer, inner):
    """Whether lint takes the outer condition to hold wherever the inner one does."""
    known = CONDITIONS["schedule"]
    return known.covers(known.comparable(outer), known.comparable(inner))


def holds(wanted, moment):
    return parse_schedule(wanted, "").holds(datetime.fromisoformat(moment))


# 2026-06-01 is a Monday; Berlin is two hours ahead of UTC in summer, one in winter.
TABLE = [
    (WORK, "2026-06-01T07:00:00Z", True),
    (WORK, "2026-06-01T06:59:59.999999Z", False),
    (WORK, "2026-06-01T15:59:59.999999Z", True),
    (WORK, "2026-06-01T16:00:00Z", False),
    (WORK, "2026-06-06T10:00:00Z", False),
    (WORK, "2026-12-01T07:30:00Z", False),
    (WORK, "2026-12-01T08:00:00Z", True),
    # Friday's night begins on Friday and ends on Saturday.
    (NIGHT, "2026-06-05T19:59:59Z", False),
    (NIGHT, "2026-06-05T20:00:00Z", True),
    (NIGHT, "2026-06-06T03:59:59Z", True),
    (NIGHT, "2026-06-06T04:00:00Z", False),
    (NIGHT, "2026-06-05T02:00:00Z", False),
    (NIGHT, "2026-06-06T20:30:00Z", False),
    # Sunday's night ends on Monday.
    ({**NIGHT, "days": "sun"}, "2026-06-08T01:00:00Z", True),
    ({**NIGHT, "days": "sun"}, "2026-06-08T21:00:00Z", False),
    # Without hours it is the whole day, without days every day.
    ({**BERLIN, "days": ["sat", "sun"]}, "2026-06-05T21:59:59Z", False),
    ({**BERLIN, "days": ["sat", "sun"]}, "2026-06-05T22:00:00Z", True),
    ({**BERLIN, "days": ["sat", "sun"]}, "2026-06-07T21:59:59Z", True),
    ({**BERLIN, "days": ["sat", "sun"]}, "2026-06-07T22:00:00Z", False),
    ({**BERLIN, "from": "18:00", "to": "00:00"}, "2026-06-01T21:59:59Z", True),
    ({**BERLIN, "from": "18:00", "to": "00:00"}, "2026-06-01T22:00:00Z", False),
    # In March 02:00 to 03:00 is left out (01:00 UTC): what begins at 02:30 begins at 03:00.
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-03-29T00:59:59Z", False),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-03-29T01:00:00Z", True),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-03-29T02:00:00Z", False),
    ({**BERLIN, "from": "02:10", "to": "02:50"}, "2026-03-29T01:00:00Z", False),
    ({**BERLIN, "from": "01:00", "to": "02:30"}, "2026-03-29T00:59:59Z", True),
    ({**BERLIN, "from": "01:00", "to": "02:30"}, "2026-03-29T01:00:00Z", False),
    # In October 02:00 to 03:00 comes twice (from 00:00 and from 01:00 UTC), and counts both times.
    ({**BERLIN, "from": "02:15", "to": "02:45"}, "2026-10-25T00:30:00Z", True),
    ({**BERLIN, "from": "02:15", "to": "02:45"}, "2026-10-25T00:50:00Z", False),
    ({**BERLIN, "from": "02:15", "to": "02:45"}, "2026-10-25T01:10:00Z", False),
    ({**BERLIN, "from": "02:15", "to": "02:45"}, "2026-10-25T01:30:00Z", True),
    ({**BERLIN, "from": "02:15", "to": "02:45"}, "2026-10-25T01:45:00Z", False),
    # Other zones: half an hour aside, and where the clocks are changed at midnight.
    ({"timeZone": "Asia/Kolkata", "from": "09:00", "to": "10:00"}, "2026-06-01T03:30:00Z", True),
    ({"timeZone": "Africa/Cairo", "from": "00:00", "to": "01:30"}, "2026-04-23T22:00:00Z", True),
    ({"timeZone": "Africa/Cairo", "from": "00:00", "to": "00:30"}, "2026-04-23T22:00:00Z", False),
    # The ends of the calendar.
    (WORK, "0001-01-01T00:00:00Z", False),
    (WORK, "9999-12-31T23:59:59Z", False),
]


def test_a_schedule_holds_at_its_moments_until_its_next_change():
    for wanted, moment, expected in TABLE:
        assert holds(wanted, moment) is expected
    for wanted, moment, expected in CHANGES:
        change = parse_schedule(wanted, "").next_change(datetime.fromisoformat(moment))
        assert change == (datetime.fromisoformat(expected) if expected else None)


CHANGES = [
    (WORK, "2026-06-01T00:00:00Z", "2026-06-01T07:00:00Z"),
    (WORK, "2026-06-01T07:00:00Z", "2026-06-01T16:00:00Z"),
    (WORK, "2026-06-05T16:00:00Z", "2026-06-08T07:00:00Z"),
    (NIGHT, "2026-06-05T20:00:00Z", "2026-06-06T04:00:00Z"),
    ({**NIGHT, "days": list(DAYS), "from": "00:00", "to": "12:00"}, "2026-06-05T20:00:00Z", "2026-06-05T22:00:00Z"),
    ({**BERLIN, "days": ["sat", "sun"]}, "2026-06-06T10:00:00Z", "2026-06-07T22:00:00Z"),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
    ({**BERLIN, "days": "sun", "from": "02:10", "to": "02:50"}, "2026-03-28T12:00:00Z", "2026-04-05T00:10:00Z"),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"),
    ({**BERLIN, "from": "02:30", "to": "04:00"}, "2026-10-25T01:30:00Z", "2026-10-25T03:00:00Z"),
    ({**BERLIN, "days": list(DAYS)}, "2026-06-01T00:00:00Z", None),
    (WORK, "9999-12-31T23:59:59Z", None),
    (WORK, "0001-01-01T00:00:00Z", None),
]


ZONES = ("Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo",
         "Pacific/Apia", "America/St_Johns")  # fmt: skip
CLOCKS = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.sampled_from([0, 15, 30, 59]))
WEEKDAYS = st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True)
SCHEDULES = st.builds(
    lambda zone, days, hours: {
        "timeZone": zone,
        **({"days": days} if days else {}),
        **({"from": hours[0], "to": hours[1]} if hours else {}),
    },
    st.sampled_from(ZONES),
    st.none() | WEEKDAYS,
    st.none() | st.tuples(CLOCKS, CLOCKS).filter(lambda pair: pair[0] != pair[1]),
).filter(lambda wanted: len(wanted) > 1)
AROUND_CLOCK_CHANGES = [datetime(2026, *day, 12, tzinfo=UTC) for day in ((3, 28), (10, 24), (4, 23))]
YEARS = st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - as it wants
MOMENTS = st.builds(
    lambda start, minutes: start + timedelta(minutes=minutes),
    st.sampled_from(AROUND_CLOCK_CHANGES) | YEARS,
    st.integers(0, 2_880),
)


@given(SCHEDULES, MOMENTS)
@settings(max_examples=examples(150), deadline=None)
@example({"timeZone": "Australia/Lord_Howe", "from": "01:45", "to": "02:15"}, datetime(2026, 10, 3, 12, tzinfo=UTC))
@example({"timeZone": "Australia/Lord_Howe", "from": "01:45", "to": "02:15"}, datetime(2026, 4, 4, 12, tzinfo=UTC))
def test_between_two_changes_it_is_always_the_same(wanted, moment):
    schedule = parse_schedule(wanted, "")
    assert schedule.holds(moment) is naive.is_open(wanted, moment)
    change = schedule.next_change(moment)
    minute = moment.replace(second=0, microsecond=0)
    for number in range(1, 2 * 24 * 60, 7):
        later = minute + timedelta(minutes=number)
        if change is not None and later >= change:
            break
        assert naive.is_open(wanted, later) is schedule.holds(moment)
    if change is not None:
        assert schedule.holds(change) is not schedule.holds(moment)
        assert schedule.holds(change - timedelta(microseconds=1)) is schedule.holds(moment)


@given(SCHEDULES, SCHEDULES, st.lists(MOMENTS, min_size=20, max_size=20))
@settings(max_examples=examples(100), deadline=None)
def test_it_holds_whenever_one_that_it_covers_does(outer, inner, moments):
    assert covers(outer, outer)
    if covers(outer, inner):
        one, other = parse_schedule(outer, ""), parse_schedule(inner, "")
        assert all(one.holds(moment) for moment in moments if other.holds(moment))


def test_longer_hours_cover_shorter_ones_of_the_same_zone():
    assert covers(WORK, {**WORK, "from": "10:00", "days": "mon"})
    assert not covers({**WORK, "from": "10:00"}, WORK)
    assert not covers({**WORK, "timeZone": "Europe/Paris"}, WORK)
    assert covers({**BERLIN, "days": ["fri", "sat"]}, NIGHT)
    sunday_night = {**BERLIN, "days": "sun", "from": "20:00", "to": "03:00"}
    assert covers(sunday_night, {**BERLIN, "days": "mon", "from": "01:00", "to": "03:00"})
    assert not covers(sunday_night, {**BERLIN, "days": "mon", "from": "01:00", "to": "03:01"})


HOUR_RULE = "Must be a time from 00:00 to 23:59, as 09:00."
WRONG = [
    ("mon", "", CONDITION_RULE),
    ({}, ".timeZone", "This field is required."),
    (BERLIN, "", CONDITION_RULE),
    ({**WORK, "day": "mon"}, ".day", "There is no such field. Did you mean `days`?"),
    ({**WORK, "days": []}, ".days", "Must have 1 to 500 values."),
    ({**WORK, "days": ["mon", "Tue"]}, ".days[1]", "Must be one of: mon, tue, wed, thu, fri, sat, sun."),
    ({**WORK, "from": "9:00"}, ".from", HOUR_RULE),
    ({**WORK, "from": 9}, ".from", HOUR_RULE),
    ({**WORK, "to": "24:00"}, ".to", f"{HOUR_RULE} Midnight is 00:00."),
    ({**WORK, "to": "09:00"}, ".to", "Must not be from: for whole days leave out both."),
    ({**BERLIN, "from": "09:00"}, ".to", "Give both from and to, or none."),
    ({**BERLIN, "to": "09:00"}, ".from", "Give both to and from, or none."),
    ({**WORK, "timeZone": 1}, ".timeZone", "Must be the name of a time zone such as Europe/Berlin."),
    ({**WORK, "timeZone": "+02:00"}, ".timeZone", "Must be the name of a time zone such as Europe/Berlin."),
    ({**WORK, "timeZone": "localtime"}, ".timeZone", "Must be the name of a time zone such as Europe/Berlin."),
    ({**WORK, "timeZone": "../../etc/passwd"}, ".timeZone", "Must be the name of a time zone such as Europe/Berlin."),
    (
        {**WORK, "timeZone": "europe/berlin"},
        ".timeZone",
        "Must be the name of a time zone such as Europe/Berlin. Did you mean Europe/Berlin?",
    ),
    (
        {**WORK, "timeZone": "New York"},
        ".timeZone",
        "Must be the name of a time zone such as Europe/Berlin. Did you mean America/New_York?",
    ),
]


@pytest.mark.parametrize(("wanted", "path", "message"), WRONG, ids=lambda one: str(one)[:60])
def test_faults_are_reported_with_their_fields(wanted, path, message):
    with pytest.raises(Fault) as caught:
        parse_rules([{"action": "deny", "conditions": {"schedule": wanted}}])
    assert (caught.value.path, caught.value.message) == (f"[0].conditions.schedule{path}", message)


@given(SCHEDULES)
@settings(max_examples=examples(100), deadline=None)
def test_the_text_of_a_form_says_the_same_schedule(wanted):
    again = read_schedule(text_of_schedule(wanted))
    assert parse_schedule(again, "") == parse_schedule(wanted, "")


def test_a_schedule_can_be_typed_and_is_said_in_words():
    for text, read in [
        ("mon-fri 09:00-18:00 Europe/Berlin", WORK),
        ("mon – fri 09:00 – 18:00 Europe/Berlin", WORK),
        ("Mon-Fri 09:00-18:00 Europe/Berlin", WORK),
        ("fri 22:00-06:00 Europe/Berlin", {**NIGHT, "days": ["fri"]}),
        ("sat, sun UTC", {"days": ["sat", "sun"], "timeZone": "UTC"}),
        ("sat-mon UTC", {"days": ["sat", "sun", "mon"], "timeZone": "UTC"}),
        ("18:00-20:00 UTC", {"from": "18:00", "to": "20:00", "timeZone": "UTC"}),
    ]:
        assert read_schedule(text) == read
    for text in ["mon-fri", "monday UTC", "mon 9 to 5", "mon, UTC"]:
        with pytest.raises(Fault):
            parse_schedule(read_schedule(text), "")
    assert clause_of_schedule(WORK) == "it is mon-fri 09:00-18:00 in Europe/Berlin"
    assert clause_of_schedule({**BERLIN, "days": ["mon", "tue", "wed"]}) == "it is mon-wed in Europe/Berlin"
    assert clause_of_schedule({**BERLIN, "days": ["sun", "mon"]}) == "it is mon, sun in Europe/Berlin"

"""The condition on requester attributes."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.values.faults import Fault
from licensing.policies.conditions import CONDITIONS
from licensing.policies.matching.attribute_conditions import never_attributes, parse_comparisons
from licensing.policies.matching.attribute_text import clause_of_attributes, lines_of_condition, read_condition
from licensing.policies.matching.attributes import (
    dump_attributes,
    load_attributes,
    parse_attributes,
    read_attributes,
    text_of_attributes,
)
from licensing.policies.rules import parse_rules
from tests.decisions.fact_values import NUMBERS
from tests.examples import examples

KNOWN = {"country": "DE", "seats": 25, "share": 0.1, "trial": False, "code": "10", "empty": ""}
HOLDS = [
    {"country": "DE"}, {"country": ["AT", "DE"]}, {"seats": 25}, {"seats": 25.0}, {"seats": [1, 25.0]}, {"share": 0.1},
    {"share": {"gte": 0.1, "lte": 0.1}}, {"trial": False}, {"code": "10"}, {"empty": ""},
    {"seats": {"gt": 24.9999999999}}, {"seats": {"gte": 25, "lt": 26}}, {"seats": {"lte": 25}},
    {"seats": {"exists": True}}, {"trial": {"exists": True}}, {"seats": {"exists": True, "gte": 1}},
    {"plan": {"exists": False}}, {"country": "DE", "seats": {"gte": 10}, "trial": False},
]  # fmt: skip
FAILS = [
    {"country": "de"}, {"country": ["AT", "CH"]}, {"seats": "25"}, {"seats": 26}, {"seats": {"gt": 25}},
    {"seats": {"lt": 25}}, {"seats": {"gte": 10, "lt": 20}}, {"seats": {"exists": False}}, {"share": {"gt": 0.1}},
    {"trial": True}, {"trial": 0}, {"trial": {"lte": 0}}, {"trial": {"gte": 0}}, {"code": 10}, {"code": {"gte": 1}},
    {"country": {"gte": 1}}, {"plan": "pro"}, {"plan": ["pro", 1, False]}, {"plan": {"lt": 5}},
    {"plan": {"exists": True}}, {"country": "DE", "seats": {"gte": 100}},
]  # fmt: skip


def covers(outer, inner):
    """Whether lint takes the outer condition to hold wherever the inner one does."""
    known = CONDITIONS["attributes"]
    return known.covers(known.comparable(outer), known.comparable(inner))


def holds(wanted, attributes):
    known = load_attributes(attributes)
    return all(one.holds(known.get(name)) for name, one in parse_comparisons(wanted, "").items())


def test_conditions_hold_of_some_attributes_and_not_of_others():
    for wanted in HOLDS:
        assert holds(wanted, KNOWN)
    for wanted in FAILS:
        assert not holds(wanted, KNOWN)
    for wanted in (*HOLDS, *FAILS):
        assert holds(wanted, {}) == all(one == {"exists": False} for one in wanted.values())
    assert holds({"big": 9_007_199_254_740_993}, {"big": 9_007_199_254_740_993})
    assert not holds({"big": 9_007_199_254_740_993}, {"big": 9_007_199_254_740_992.0})
    assert holds({"big": {"gt": 9_007_199_254_740_992.0}}, {"big": 9_007_199_254_740_993})
    assert holds({"sum": {"gt": 0.3}}, {"sum": 0.1 + 0.2})
    assert not holds({"sum": {"gt": 0.3}}, {"sum": 0.3})
    assert holds({"flag": [1, True]}, {"flag": True})
    assert not holds({"flag": 1}, {"flag": True})
    assert not holds({"flag": True}, {"flag": 1})


WRONG = [
    ({}, "", "Must name an attribute."),
    ("DE", "", 'Must be an object such as {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": false}.'),
    ({"a b": 1}, ".a b", "A key has 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-'."),
    ({"x" * 65: 1}, "." + "x" * 65, "A key has 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-'."),
    ({f"key{number}": 1 for number in range(51)}, "", "At most 50 keys."),
    ({"plan": None}, ".plan", "Must be a string, a number or a boolean."),
    ({"plan": "x" * 501}, ".plan", "Must have at most 500 characters."),
    ({"plan": []}, ".plan", "Must have 1 to 500 values."),
    ({"plan": ["x"] * 501}, ".plan", "Must have 1 to 500 values."),
    ({"plan": ["x", ["y"]]}, ".plan[1]", "Must be a string, a number or a boolean."),
    ({"plan": {}}, ".plan", "Must name a comparison. Known comparisons: gte, gt, lte, lt, exists."),
    ({"plan": {"eq": 1}}, ".plan.eq", "There is no such comparison. Known comparisons: gte, gt, lte, lt, exists."),
    ({"seats": {"gte": "10"}}, ".seats.gte", "Must be a number."),
    ({"seats": {"gte": True}}, ".seats.gte", "Must be a number."),
    ({"seats": {"gte": float("nan")}}, ".seats.gte", "Must be a number of 64 bits."),
    ({"seats": float("inf")}, ".seats", "Must be a number of 64 bits."),
    ({"seats": 10**400}, ".seats", "Must be a number of 64 bits."),
    ({"plan": {"exists": 1}}, ".plan.exists", "Must be true or false."),
    ({"plan": {"exists": False, "gte": 1}}, ".plan.exists", "Must stand alone if it is false."),
]


@pytest.mark.parametrize(("wanted", "path", "message"), WRONG, ids=lambda one: str(one)[:40])
def test_faults_are_reported_with_their_fields(wanted, path, message):
    with pytest.raises(Fault) as caught:
        parse_rules([{"action": "deny", "conditions": {"attributes": wanted}}])
    assert (caught.value.path, caught.value.message) == (f"[0].conditions.attributes{path}", message)


def test_all_faults_are_reported_at_once():
    with pytest.raises(Fault) as caught:
        parse_comparisons({"a": {"gte": "x", "lt": None}, "b": [], "c": {"of": 1}}, "attributes")
    paths = [one.path for one in caught.value.all()]
    assert paths == ["attributes.a.gte", "attributes.a.lt", "attributes.b", "attributes.c.of"]
    for value in (float("nan"), float("-inf"), 2**63, Decimal("NaN")):
        with pytest.raises(Fault) as caught:
            parse_attributes({"seats": value}, "requester.attributes")
        assert caught.value.path == "requester.attributes.seats"


KEYS = st.from_regex(r"[A-Za-z0-9_.-]{1,9}", fullmatch=True, alphabet=st.characters(codec="ascii"))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=9)
SCALARS = TEXTS | NUMBERS | st.booleans() | st.sampled_from(["true", "10", "-1e3", "a, b", 'say "x"', "= 1", " "])
ATTRIBUTES = st.dictionaries(KEYS, SCALARS, max_size=4)


@given(ATTRIBUTES)
@settings(max_examples=examples(300), deadline=None)
def test_attributes_are_the_same_after_they_were_recorded(sent):
    parsed = parse_attributes(sent, "requester.attributes")
    assert load_attributes(dump_attributes(parsed)) == parsed
    assert load_attributes(sent) == parsed


@given(ATTRIBUTES)
@settings(max_examples=examples(300), deadline=None)
def test_the_text_of_attributes_in_a_form_is_read_as_the_same(sent):
    text = text_of_attributes(sent)
    assert load_attributes(read_attributes(text)) == load_attributes(sent)


def test_attributes_can_be_typed_and_others_are_refused_with_an_example():
    for text, read in [
        ("country=DE, seats=25, trial=false", {"country": "DE", "seats": 25, "trial": False}),
        ("country = DE", {"country": "DE"}),
        ('share=0.5, code="10"', {"share": 0.5, "code": "10"}),
        ("country=NO", {"country": "NO"}),
        ('name="a, b=\\"c\\"" , seats=1,', {"name": 'a, b="c"', "seats": 1}),
        ("", {}),
    ]:
        assert read_attributes(text) == read
    for text in ["country", "=DE", "country=DE seats=", 'name="x', "a b=1", "seats=", "seats= ,a=1", "a=1,,b=2"]:
        with pytest.raises(Fault, match="country=DE, seats=25"):
            read_attributes(text)


FEW = st.sampled_from([0, 1, 1.5, 2, "1", "x", True, False])
BOUNDS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([0, 1, 1.5, 2]) for name in ("gt", "gte", "lt", "lte")}
).filter(bool)
COMPARISONS = (
    FEW | st.lists(FEW, min_size=1, max_size=3) | BOUNDS | st.sampled_from([{"exists": True}, {"exists": False}])
)
WANTED = st.dictionaries(st.sampled_from("ab"), COMPARISONS, min_size=1)
SOME_KNOWN = st.lists(st.dictionaries(st.sampled_from("ab"), FEW | st.just(0.5)), min_size=20, max_size=20)


@given(WANTED, WANTED, SOME_KNOWN)
@settings(max_examples=examples(300), deadline=None)
def test_a_condition_holds_wherever_one_that_it_covers_does(outer, inner, known):
    if covers(outer, inner):
        assert all(holds(outer, one) for one in known if holds(inner, one))
    if never_attributes(inner):
        assert not any(holds(inner, one) for one in known)
    assert covers(inner, inner)


WITHIN = [
    ({"gte": 1}, {"gt": 1}), ({"gte": 1}, {"gte": 1, "lt": 5}), ({"gt": 1}, {"gt": 1}), ({"gt": 1}, {"gte": 1.5}),
    ({"lte": 2}, {"lt": 2}), ({"lt": 2}, {"lt": 2}), ({"lt": 2}, {"lte": 1.5}),
    ({"gte": 0, "lt": 2}, {"gt": 0, "lte": 1}), ({"gt": 1}, {"gt": 1, "gte": 0}), ({"gt": 1}, {"gt": 1, "gte": 1}),
    ({"lt": 2}, {"lt": 2, "lte": 9}), ({"lt": 2}, {"lt": 2, "lte": 2}), ({"exists": True}, {"gte": 1}),
    ({"exists": False}, {"exists": False}),
]  # fmt: skip
NOT_WITHIN = [
    ({"gt": 1}, {"gte": 1}), ({"lt": 2}, {"lte": 2}), ({"gte": 1}, {"gte": 0}), ({"gte": 1, "lt": 2}, {"gte": 1}),
    ({"gte": 1, "lt": 2}, {"lt": 2}), ({"gte": 0}, {"exists": True}), ({"exists": True}, {"exists": False}),
    (1, {"gte": 1, "lte": 1}),
]  # fmt: skip


def test_bounds_cover_those_that_lie_within_them_alone():
    for outer, inner in WITHIN:
        assert covers({"seats": outer}, {"seats": inner})
    for outer, inner in NOT_WITHIN:
        assert not covers({"seats": outer}, {"seats": inner})
    for bounds, never in [
        ({"gt": 5, "lt": 5}, True), ({"gte": 5, "lt": 5}, True), ({"gt": 5, "lte": 5}, True),
        ({"gte": 6, "lte": 5}, True), ({"gte": 0, "gt": 5, "lt": 5, "lte": 9}, True), ({"gte": 5, "lte": 5}, False),
        ({"gt": 5, "lt": 6}, False), ({"gt": 5}, False), ({"lt": 5}, False),
    ]:  # fmt: skip
        told = "No number lies between the bounds of seats." if never else ""
        assert never_attributes({"seats": bounds, "country": "DE"}) == told


@given(
    st.dictionaries(KEYS, COMPARISONS | SCALARS | st.lists(SCALARS, min_size=2, max_size=3), min_size=1, max_size=4)
)
@settings(max_examples=examples(300), deadline=None)
def test_the_lines_of_a_form_say_the_same_condition(wanted):
    again = read_condition(lines_of_condition(wanted))
    assert lines_of_condition(again) == lines_of_condition(wanted)
    assert covers(again, wanted)
    assert covers(wanted, again)


def test_a_condition_is_said_in_words_and_lines():
    wanted = {"country": ["DE", "AT"], "seats": {"gte": 10, "lt": 50}, "trial": False, "plan": {"exists": False}}
    assert clause_of_attributes(wanted) == (
        "the customer's country is DE or AT and plan is not known and seats is at least 10 and seats is less than 50"
        " and trial is false"
    )
    assert lines_of_condition(wanted).split("\n") == [
        "country = DE, AT",
        "seats >= 10",
        "seats < 50",
        "trial = false",
        "plan missing",
    ]
    assert read_condition(lines_of_condition(wanted)) == wanted
    for text in ["country", "country = ", "a = 1\na = 2", "seats >= 1\nseats >= 2", "a b = 1", "=1"]:
        assert read_condition(text) == text

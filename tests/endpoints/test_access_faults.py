import re
from copy import deepcopy
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kit.http.errors import ValidationFailed
from licensing.access import faults
from licensing.access.bodies import BatchBody, CheckBody, parse_batch, parse_check
from tests.examples import examples

RULE = {"action": "allow", "conditions": {"default": True}}
RIGHT: dict[str, Any] = {
    "contentId": "cnt_1", "requester": {"id": "org", "name": "Org", "licenseType": "gold", "hasValidLicense": True},
    "permission": "read", "context": {"ip": "203.0.113.9", "userAgent": "Bot"}, "dryRun": True, "explain": True,
    "policy": {"rules": [RULE, RULE], "defaultAction": "deny"},
}  # fmt: skip
# Wrong values by their path in a check, each with the reported path.
WRONG: dict[str, list[tuple[object, list[str]]]] = {
    "contentId": [(5, [""]), ("", [""]), ("x" * 256, [""])],
    "requester": [(5, [""]), ({}, [".id"]), (" ", [""]), ({"id": 1, "tier": 2}, [".id", ".tier"])],
    "requester.id": [("", [""])],
    "requester.name": [(" ", [""])],
    "requester.hasValidLicense": [("yes", [""])],
    "permission": [("Read", [""]), (5, [""])],
    "context": [("here", [""]), ({"ip": "nowhere", "port": 1}, [".port", ".ip"])],
    "context.ip": [("nowhere", [""]), (5, [""])],
    "context.userAgent": [("x" * 1001, [""])],
    "dryRun": [("true", [""]), (1, [""])],
    "explain": [({}, [""])],
    "sign": [(True, [""]), ("true", [""])],
    "policy": [(5, [""]), ({"rules": 5, "mode": "x"}, [".rules", ".mode"])],
    "policy.rules": [([RULE, {}, 5], ["[1].action", "[1].conditions", "[2]"])],
    "policy.defaultAction": [("maybe", [""])],
    "nonsense": [(1, [""])],
}


def told(parse: Any, body: object) -> list[str | None]:
    try:
        parse(body)
    except ValidationFailed as error:
        return [one.param for one in (error, *error.further)]
    return []


@st.composite
def planted(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Draw a check with errors, and the paths of these errors."""
    check, where = deepcopy(RIGHT), []
    places = draw(st.lists(st.sampled_from(sorted(WRONG)), unique=True, max_size=8))
    for place in draw(st.permutations(places)):
        if any(place.startswith(f"{other}.") for other in places):
            continue  # its parent is replaced as a whole
        value, ends = draw(st.sampled_from(WRONG[place]))
        *outer, name = place.split(".")
        (check[outer[0]] if outer else check)[name] = deepcopy(value)
        where += [f"{place}{end}" for end in ends]
    return check, where


def mend(check: dict[str, Any], path: str) -> None:
    """Replace the reported values by valid ones."""
    names = [name for name in re.split(r"[.\[\]]+", path) if name]
    right: Any = RIGHT
    part: Any = check
    while isinstance(right.get(names[0]), dict) and isinstance(part.get(names[0]), dict) and len(names) > 1:
        right, part = right[names[0]], part[names[0]]
        names.pop(0)
    if names[0] in right:
        part[names[0]] = deepcopy(right[names[0]])
    else:
        part.pop(names[0], None)


@settings(max_examples=examples(200), deadline=None)
@given(planted())
def test_each_fault_of_a_check_is_reported_once(case):
    check, where = case
    assert sorted(map(str, told(parse_check, check))) == sorted(where)
    for path in where:
        mend(check, path)
    assert told(parse_check, check) == []


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(planted(), min_size=1, max_size=3), planted())
def test_so_is_each_of_a_batch_with_its_defaults(cases, defaults):
    body, where = defaults
    assume("sign" not in body)  # would be an error of every check
    body["checks"] = [check for check, _ in cases]
    expected = [*where, *(f"checks[{index}].{path}" for index, (_, paths) in enumerate(cases) for path in paths)]
    if isinstance(context := body.get("context"), dict) and context.get("ip") == "nowhere":
        expected.remove("context.ip")  # no check inherits it: each has its own
    assert sorted(map(str, told(parse_batch, body))) == sorted(expected)
    for path in where:
        mend(body, path)
    for check, paths in cases:
        for path in paths:
            mend(check, path)
    assert told(parse_batch, body) == []


TEXTS = st.sampled_from(["", " ", "a", "allow", "https://e.x/", "10.0.0.1"])
NAMES = [
    "contentId", "externalId", "source", "requester", "id", "name", "permission", "context", "ip", "userAgent",
    "dryRun", "sign", "policy", "rules", "defaultAction", "checks", "correlationId", "x",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
BODY = st.dictionaries(st.sampled_from(["checks", "contentId", "requester", "context", "policy", "x"]), JSON)


@settings(max_examples=examples(500), deadline=None)
@given(BODY, st.sampled_from([(CheckBody, parse_check), (BatchBody, parse_batch)]))
def test_the_first_is_what_msgspec_finds_first(body, kind):
    struct, parse = kind
    try:
        msgspec.convert(body, struct)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        names = [path.removesuffix("`").lstrip(".")]
        if match := re.search(r"(?:unknown|required) field `(.*)`", text):
            names.append(match[1])
        assert told(parse, body)[0] == (".".join(name for name in names if name) or None)
    else:
        assert all(isinstance(one, str) for one in told(parse, body))


def test_faults_are_counted_once():
    draft = {"contentId": "a", "requester": "org", "dryRun": "yes", "policy": {}}
    signed = {"contentId": "a", "requester": "org", "dryRun": "yes", "sign": True}
    assert told(parse_check, draft) == told(parse_check, signed) == ["dryRun"]
    assert told(parse_check, {**draft, "sign": True}) == ["dryRun", "sign"]
    body = {"contentId": 5, "requester": "org"}
    assert told(parse_check, body) == ["contentId"]
    assert told(parse_check, {**body, "externalId": "a"}) == ["contentId", "externalId"]
    checks = [{"requester": f"org_{n}"} for n in range(5)]
    assert told(parse_batch, {"contentId": "a", "externalId": "b", "checks": checks}) == ["checks[0].externalId"]
    assert told(parse_batch, {"contentId": "a", "policy": {}, "checks": checks}) == ["policy"]
    assert told(parse_batch, {"contentId": "a", "context": {"ip": "x"}, "checks": checks}) == ["checks[0].context.ip"]
    assert told(parse_batch, {"source": "https://[x", "checks": checks}) == ["source"]


def test_a_right_body_is_read_once(monkeypatch):
    monkeypatch.setattr(faults, "Walk", None)
    parse_check(RIGHT)
    parse_batch({"requester": "org", "checks": [{"contentId": "a"}] * 100})


@pytest.mark.parametrize("body", [
    pytest.param({f"k{n}": 0 for n in range(100_000)}, id="unknown fields"),
    pytest.param({"checks": [{f"k{n}": [[n]] for n in range(1_000)} for _ in range(100)]},
                 id="unknown fields of checks"),
    pytest.param({"checks": [0] * 500_000}, id="far too many checks"),
    pytest.param({"checks": [{"contentId": 0}] * 100}, id="wrong checks"),
    pytest.param({"checks": [{"contentId": "x" * 10_000, "requester": {"id": " " * 250}} for _ in range(100)]},
                 id="long texts"),
])  # fmt: skip
def test_a_large_body_is_read_only_up_to_the_reported_faults(monkeypatch, body):
    convert = Mock(side_effect=msgspec.convert)
    monkeypatch.setattr(faults.msgspec, "convert", convert)
    assert 1 <= len(told(parse_batch, body)) <= 100
    assert convert.call_count < 1_000

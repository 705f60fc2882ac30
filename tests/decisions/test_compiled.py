"""The size-bounded cache of compiled objects (kit.bounded_cache), also under concurrent use."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import orjson
import pytest

from kit.bounded_cache import BoundedCache
from licensing.licenses.license_index import LicenseIndex
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.effective_licenses import Term
from licensing.policies.facts import HeldLicense
from licensing.policies.rules import parse_rules
from tests import largest


@pytest.fixture
def compiled():
    """A cache of texts by number, limited to ten characters."""
    return BoundedCache(len, 10)


@pytest.mark.parametrize(("entries", "kept"), [
    pytest.param([(1, "12345"), (2, "12345")], {1: "12345", 2: "12345"}, id="entries within the bound are kept"),
    pytest.param([(1, "1234"), (2, "1234"), (3, "1234")], {2: "1234", 3: "1234"}, id="the oldest make room"),
    pytest.param([(1, "1234"), (2, "1234"), (1, "1234"), (1, "1234"), (3, "1234")], {1: "1234", 3: "1234"},
                 id="an entry put again weighs once and counts as new"),
    pytest.param([(1, "x" * 11), (2, "x" * 10)], {2: "x" * 10}, id="an entry above the bound is not kept"),
    pytest.param([(1, "12345"), (2, "x" * 11)], {1: "12345"}, id="an entry above the bound evicts nothing"),
])  # fmt: skip
def test_the_newest_entries_within_the_bound_are_kept(compiled, entries, kept):
    for number, text in entries:
        compiled.put(number, text)
    assert {number: compiled.get(number) for number in (1, 2, 3) if compiled.get(number) is not None} == kept
    compiled.clear()
    compiled.put(2, "1234567890")
    assert (compiled.get(1), compiled.get(2)) == (None, "1234567890")


def test_it_tells_what_it_keeps_by_identity(compiled):
    first, second = "12345 ".strip(), "6789012 ".strip()
    compiled.put(1, first)
    assert compiled.keeps(first)
    compiled.put(2, second)
    assert (compiled.keeps(first), compiled.keeps(second), compiled.dropped) == (False, True, 1)


def test_threads_that_write_and_read_at_once_find_what_was_put_or_nothing(compiled):
    def work(first):
        found = set()
        for number in range(first, first + 5_000):
            compiled.put(number % 50, str(number % 50))
            found.add((number % 7, compiled.get(number % 7)))
        return found

    with ThreadPoolExecutor(8) as threads:
        found = set().union(*threads.map(work, range(0, 80, 10)))
    assert found <= {(number, text) for number in range(7) for text in (None, str(number))}
    assert sum(map(len, compiled.values.values())) == compiled.weight <= 10


def taken(make):
    """Return the result of `make` and the bytes of memory it takes: what two measurements agree on, or the least.

    Other threads take and free memory meanwhile.
    """
    gc.freeze()  # otherwise each collection scans everything that earlier tests have loaded
    measured = []
    while len(measured) < 10:
        made, memory = taken_once(make)
        if memory in measured:
            return made, memory
        measured.append(memory)
    return made, min(measured)


def taken_once(make):
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        return made, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def addresses(count):
    return [f"{number >> 12:x}:{number & 4095:x}::" for number in range(8_192, 8_192 + 2 * count, 2)]


SHAPES = {
    "texts": largest.rules_of(30_000),
    "long texts": largest.rules_of(30_000, width=200),
    "other alphabets": [{"action": "deny", "conditions": {"tags": ["\U0001f600" * 50 + str(n) for n in range(100)]}}],
    "addresses": [{"action": "deny", "conditions": {"ip": addresses(500)}}] * 3,
    "many rules": largest.many_rules(),
    "short rules": [{"action": "deny", "conditions": {"default": True}}] * 100,
    "conditions": [
        {"action": "deny", "conditions": {"ip": "::1", "tags": "ab", "category": "cd", "before": "2030-01-01"}}
    ]
    * 50,
}


@pytest.mark.slow
@pytest.mark.parametrize("rules", SHAPES.values(), ids=SHAPES)
def test_the_estimated_size_of_a_policy_is_about_right(rules):
    text = orjson.dumps(rules)
    policy, memory = taken(lambda: CompiledPolicy.of("pol_1", 1, "deny", parse_rules.__wrapped__(orjson.loads(text))))
    assert policy.size / 3 < memory <= policy.size


@pytest.mark.slow
@pytest.mark.parametrize(("count", "names"), [(200, 0), (200, 1), (20, 100), (1, 1_000)])
def test_the_estimated_size_of_licences_is_about_right(count, names):
    scopes = orjson.dumps([[f"cnt_{number:013d}{name:013d}" for name in range(names)] for number in range(count)])

    def make():
        end, start = datetime(2030, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)
        return LicenseIndex(
            Term(HeldLicense(f"type {number}", "service", f"lic_{number:026d}", end), start, False, scope)
            for number, scope in enumerate(orjson.loads(scopes))
        )

    held, memory = taken(make)
    assert held.size / 3 < memory <= held.size

"""What is compiled is kept within a bound (licensing.compiled), whoever reads and writes it at the same time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from licensing.compiled import Compiled


@pytest.fixture
def compiled():
    """Texts by number, ten characters in all."""
    return Compiled(len, 10)


def test_what_there_is_room_for_is_kept(compiled):
    compiled.put(1, "12345")
    compiled.put(2, "12345")
    assert (compiled.get(1), compiled.get(2), compiled.get(3)) == ("12345", "12345", None)


def test_the_oldest_make_room(compiled):
    for number in (1, 2, 3):
        compiled.put(number, "1234")
    assert (compiled.get(1), compiled.get(2), compiled.get(3)) == (None, "1234", "1234")


def test_what_is_put_again_weighs_once_and_is_new(compiled):
    for number in (1, 2, 1, 1, 3):
        compiled.put(number, "1234")
    assert (compiled.get(1), compiled.get(2), compiled.get(3)) == ("1234", None, "1234")


def test_what_is_too_heavy_is_not_kept(compiled):
    compiled.put(1, "12345678901")
    compiled.put(2, "1234567890")
    assert (compiled.get(1), compiled.get(2)) == (None, "1234567890")


def test_after_clearing_there_is_all_the_room_again(compiled):
    compiled.put(1, "1234567890")
    compiled.clear()
    compiled.put(2, "1234567890")
    assert (compiled.get(1), compiled.get(2)) == (None, "1234567890")


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

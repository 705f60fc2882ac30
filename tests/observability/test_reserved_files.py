"""Files of metrics on a full disk: their blocks are reserved, or their numbers stay in memory."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.mmap_dict import MmapedDict

from kit.telemetry import metrics, reserved_files
from kit.telemetry.metrics import numbers
from kit.telemetry.reserved_files import ReservedDict

NO_ROOM = (
    "/metrics lacks numbers of this process: its files of metrics have no room ([Errno 28] No space left on device)."
)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(reserved_files.os, "posix_fallocate", refuse)


@pytest.fixture(autouse=True)
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserved_files, "is_reported", False)


def has_all_blocks(path: Path) -> bool:
    status = path.stat()
    return status.st_blocks * 512 >= status.st_size


def fill(values: MmapedDict, count: int) -> None:
    for number in range(count):
        values.write_value(f"key {number}", float(number), 0.0)


def test_every_block_of_a_file_is_reserved_also_when_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "counter_1.db"
    values = ReservedDict(str(path))
    assert has_all_blocks(path)
    first_size = path.stat().st_size
    fill(values, 5_000)
    assert path.stat().st_size > first_size
    assert has_all_blocks(path)
    assert [path.name for path in tmp_path.iterdir()] == ["counter_1.db"]
    assert [value for _, value, _, _ in MmapedDict.read_all_values_from_file(str(path))] == list(range(5_000))


def test_without_room_for_a_file_numbers_stay_in_memory(
    tmp_path: Path, full_disk: None, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PROMETHEUS_MULTIPROC_DIR = str(tmp_path)
    cells = numbers("licensing_something", 3)
    cells[2] += 1
    assert list(cells) == [0, 0, 1]
    values = ReservedDict(str(tmp_path / "counter_1.db"))
    fill(values, 5_000)
    assert values.read_value("key 4999") == (4_999, 0)
    values.close()
    assert list(tmp_path.iterdir()) == []
    assert caplog.messages == [NO_ROOM]


def test_without_room_to_grow_a_file_keeps_what_it_has(
    tmp_path: Path, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "counter_1.db"
    values = ReservedDict(str(path))
    fill(values, 1)
    request.getfixturevalue("full_disk")
    fill(values, 5_000)
    values.write_value("key 0", 7.0, 0.0)
    assert values.read_value("key 0") == (7, 0)
    assert values.read_value("key 4999") == (4_999, 0)
    assert ("key 0", 0.0) in [(key, value) for key, value, _, _ in MmapedDict.read_all_values_from_file(str(path))]
    assert caplog.messages == [NO_ROOM]


def test_numbers_of_another_process_with_the_same_id_go_on(tmp_path: Path, settings: Any) -> None:
    settings.PROMETHEUS_MULTIPROC_DIR = str(tmp_path)
    numbers("licensing_something", 2)[1] = 5
    assert list(numbers("licensing_something", 2)) == [0, 5]
    assert [has_all_blocks(path) for path in metrics.metric_files("licensing_something")] == [True]

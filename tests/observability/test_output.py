"""What does not come from Python's logging becomes log entries, too."""

import logging
import sys
import threading
import warnings
from collections.abc import Iterator

import pytest

from kit.telemetry.output import LogStream, log_uncaught_errors


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    log_uncaught_errors()
    yield
    logging.captureWarnings(capture=False)


def test_an_error_that_ends_the_process_is_logged_with_its_traceback(
    hooks: None, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise ValueError("a wrong value")
    except ValueError as error:
        sys.excepthook(ValueError, error, error.__traceback__)
    [record] = caplog.records
    assert record.levelno == logging.CRITICAL
    assert record.exc_info
    assert str(record.exc_info[1]) == "a wrong value"


def test_an_error_that_ends_a_thread_is_logged_with_its_traceback(
    hooks: None, caplog: pytest.LogCaptureFixture
) -> None:
    thread = threading.Thread(target=lambda: 1 / 0, name="counting")
    thread.start()
    thread.join()
    [record] = caplog.records
    assert record.getMessage() == "The thread counting ends, because of an error"
    assert record.exc_info
    assert record.exc_info[0] is ZeroDivisionError


def test_a_warning_is_logged(hooks: None, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("py.warnings").propagate = True
    warnings.showwarning("is deprecated", DeprecationWarning, "file.py", 1)
    assert "is deprecated" in caplog.text


def test_each_write_to_a_stream_is_one_entry(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stream = LogStream(logging.getLogger("tests.output"), logging.WARNING)
    print("Two lines\nof 100 %", file=stream)
    assert caplog.record_tuples == [("tests.output", logging.WARNING, "Two lines\nof 100 %")]

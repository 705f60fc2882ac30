"""Output that does not come from Python's logging, as log entries: lines of commands, warnings, and tracebacks."""

import logging
import sys
import threading
from io import TextIOBase
from types import TracebackType
from typing import TextIO, cast

from django.core.management.base import OutputWrapper

from kit.telemetry.logs import JsonLines

logger = logging.getLogger(__name__)


class LogStream(TextIOBase):
    """A stream whose every write becomes a log entry."""

    def __init__(self, target: logging.Logger, level: int) -> None:
        self.target = target
        self.level = level

    def write(self, text: str) -> int:
        if message := text.strip():
            self.target.log(self.level, "%s", message)
        return len(text)


def log_output(target: logging.Logger, level: int) -> OutputWrapper:
    """Return a stream for a command's `stdout` or `stderr`."""
    return OutputWrapper(cast(TextIO, LogStream(target, level)))


def is_log_json() -> bool:
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def log_uncaught_errors() -> None:
    """Log Python's warnings and errors that nothing handles, instead of printing them."""
    logging.captureWarnings(capture=True)
    sys.excepthook = log_uncaught
    threading.excepthook = log_uncaught_in_thread


def log_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, Exception):
        logger.critical("The process ends, because of an error", exc_info=(kind, error, traceback))
    else:
        sys.__excepthook__(kind, error, traceback)


def log_uncaught_in_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None and issubclass(failed.exc_type, Exception):
        name = "unknown" if failed.thread is None else failed.thread.name
        error = (failed.exc_type, failed.exc_value, failed.exc_traceback)
        logger.error("The thread %s ends, because of an error", name, exc_info=error)

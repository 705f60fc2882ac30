"""The id of the current request, in replies and log records."""

import logging
import re
from contextvars import ContextVar

from uuid_utils import uuid7

request_id: ContextVar[str] = ContextVar("request_id", default="-")
IS_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}").fullmatch


class RequestIdFilter(logging.Filter):
    """Add the current request's id to every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def valid_request_id(sent: str) -> str:
    """Return the client's request id if it is valid, otherwise a new one."""
    return sent if IS_REQUEST_ID(sent) else f"req_{uuid7().hex}"

"""The output of the log."""

import io
import json
import logging
from typing import Any

from kit.http.headers import RequestIdFilter


class Log:
    """The log's output in one of the formats."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(formatter)
        self.handler.addFilter(RequestIdFilter())

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def lines(self, logger: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.text.splitlines()) if line["logger"] == logger]

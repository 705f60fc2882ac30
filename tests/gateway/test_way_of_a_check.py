"""A cached check's contentId passes few files from socket to socket (docs/explanation/architecture.md).

A file counts if one of its functions is called from another file with the contentId in its arguments.
"""

import asyncio
import dataclasses
import re
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection

from analytics.recording.batch import AsyncRecorder
from config import asgi
from kit.values import ids
from tests import factories
from tests.gateway.wire import served

ON_POSTGRESQL = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
# The event loop reads PostgreSQL on its own connection, which sees committed data only.
pytestmark = pytest.mark.django_db(transaction=ON_POSTGRESQL)

MOST_FILES, MOST_TIMES = 19 if ON_POSTGRESQL else 20, 3
ARCHITECTURE = Path(settings.BASE_DIR, "docs/explanation/architecture.md")


class Trace:
    """Trace the project files that the texts enter, in order, each with the function called."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.entered: list[tuple[str, str]] = []
        self.seen: set[Any] = set()  # a coroutine's frame is entered again after each wait

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event != "call" or frame in self.seen or (name := self.file_of(frame)) is None:
            return
        self.seen.add(frame)
        code = frame.f_code
        given = [frame.f_locals.get(variable) for variable in code.co_varnames[: code.co_argcount]]
        if self.file_of(frame.f_back) != name and self.is_in(given):
            self.entered.append((name, code.co_qualname))

    @staticmethod
    def file_of(frame: Any) -> str | None:
        if frame is None:
            return None
        path = Path(frame.f_code.co_filename)
        root = Path(settings.BASE_DIR)
        inside = path.is_relative_to(root) and not path.is_relative_to(root / "tests") and ".venv" not in path.parts
        return str(path.relative_to(root)) if inside else None

    def is_in(self, value: Any) -> bool:
        """Whether a text is in a value or its parts; ignores objects with methods."""
        match value:
            case bytes() | bytearray():
                return any(text.encode() in value for text in self.texts)
            case str():
                return any(text in value for text in self.texts)
            case dict():
                return self.is_in([*value.keys(), *value.values()])
            case list() | tuple() | set() | frozenset():
                return any(map(self.is_in, value))
            case msgspec.Struct():
                return any(self.is_in(getattr(value, name)) for name in value.__struct_fields__)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return any(self.is_in(getattr(value, field.name)) for field in dataclasses.fields(value))
        return False


@pytest.fixture
def entered(account, application, monkeypatch) -> list[tuple[str, str]]:
    """The files and functions that a check's contentId enters if everything is cached."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    body = orjson.dumps({"contentId": item.pk, "requester": factories.LICENSED_REQUESTER})
    lines = (
        "POST /v1/access/check HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {factories.key_text(account)}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    request = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    trace = Trace(item.pk, ids.id_to_hex("cnt", item.pk))
    monkeypatch.setattr(asgi, "checks", application)
    recorder, in_thread = AsyncRecorder(), application.gateway.commits.write
    record = in_thread.call

    def record_traced(entries: Any) -> Any:
        sys.setprofile(trace if is_traced.is_set() else None)
        try:
            return record(entries)
        finally:
            sys.setprofile(None)

    is_traced = threading.Event()
    monkeypatch.setattr(in_thread, "call", record_traced)
    if ON_POSTGRESQL:
        application.gateway.commits.write = recorder.record

    async def exchange() -> list[bytes]:
        replies = []
        async with served(asgi.application) as (address, _), asyncio.timeout(30):
            reader, writer = await asyncio.open_connection(*address)
            for number in range(3):
                if number == 2:  # everything is cached and prepared
                    is_traced.set()
                    sys.setprofile(trace)
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                [length] = re.findall(rb"content-length: (\d+)", head)
                replies.append(await reader.readexactly(int(length)))
            sys.setprofile(None)
            writer.close()
        for session in recorder.sessions.idle:
            session.close()
        return replies

    try:
        replies = async_to_sync(exchange)()
    finally:
        sys.setprofile(None)
        if ON_POSTGRESQL:
            connection.close()
    assert [orjson.loads(reply)["contentId"] for reply in replies] == [item.pk] * 3
    return trace.entered


def test_it_enters_few_files_and_none_more_than_twice(entered):
    times = Counter(name for name, _ in entered)
    assert len(times) <= MOST_FILES, entered
    assert max(times.values()) <= MOST_TIMES, times


@pytest.mark.skipif(not ON_POSTGRESQL, reason="the document tells of PostgreSQL")
def test_the_document_tells_of_each_entrance(entered):
    section = ARCHITECTURE.read_text().partition("### From socket to socket")[2].partition("\n#")[0]
    assert re.findall(r"(?m)^\| `([^`]+)` \| `([^`]+)` \|", section) == entered

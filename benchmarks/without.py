"""`manage.py serve` with one layer of a check's path replaced by a library (benchmarks.layers)."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, cast
from uuid import UUID

import uvicorn
from django.core.management import execute_from_command_line
from psycopg_pool import AsyncConnectionPool

from config.management.commands import serve
from config.server import protocol
from kit.storage import light_tasks, microbatch
from kit.storage.postgresql import async_postgres
from kit.storage.postgresql.async_postgres import Parameter, Row
from kit.storage.postgresql.poolers import connection_string


def without_protocol() -> None:
    """Parse HTTP with uvicorn's own protocol."""
    bounded = serve.configuration

    def configuration(port: int) -> uvicorn.Config:
        made = bounded(port)
        made.http = "httptools"
        return made

    serve.configuration = configuration


def without_whole_request() -> None:
    """Serve every request in parts, as uvicorn does."""
    protocol.match_plain_path = lambda url: None  # type: ignore[assignment]


class PooledSessions:
    """Cursors of psycopg, from its pool."""

    def __init__(self, set_up: str = "") -> None: ...

    @cached_property
    def pool(self) -> AsyncConnectionPool:
        return AsyncConnectionPool(connection_string(), kwargs={"autocommit": True}, max_size=8, open=False)

    @asynccontextmanager
    async def one(self) -> "AsyncIterator[PooledSessions]":
        yield self

    async def run(self, statement: str, parameters: Sequence[Parameter] = ()) -> list[Row]:
        await self.pool.open()
        async with self.pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(cast(Any, statement), [to_python(one) for one in parameters], prepare=True)
            result = cursor.pgresult
            assert result is not None
            columns = range(result.nfields)
            return [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]


def to_python(parameter: Parameter) -> object:
    """Return what psycopg sends as the same parameter."""
    if isinstance(parameter, str):
        return parameter
    return [UUID(hex=one) if isinstance(one, str) else one for one in parameter]


def without_async_postgres() -> None:
    """Run statements on psycopg's cursors, with its pool."""
    async_postgres.Sessions.__new__ = lambda cls, *_: PooledSessions()  # type: ignore[assignment, method-assign]


def without_light_tasks() -> None:
    """Run every request in an asyncio task."""

    def start(self: light_tasks.LightTasks, work: Coroutine[object, object, None]) -> Any:
        task = self.loop.create_task(work)
        under_way = cast("set[asyncio.Task[None]]", self.under_way)
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        return task

    light_tasks.LightTasks.start = start  # type: ignore[method-assign]


def without_microbatch() -> None:
    """Look up, count and record each request separately, with up to 16 calls at a time."""
    usual = microbatch.MicroBatch.__init__

    def alone(self: Any, call: Any, **options: Any) -> None:
        usual(self, call, **{**options, "max_items": 1, "in_flight": 16, "gather": None})

    microbatch.MicroBatch.__init__ = alone  # type: ignore[method-assign]


def serve_without(layer: str) -> None:
    globals()[f"without_{layer}"]()
    execute_from_command_line(["manage.py", "serve"])

"""The probes `/livez` and `/readyz`, which answer even if all threads are busy."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from django.db import Error, connection

from accounts.limits.limiter import limiter
from config.migrating.pending import pending_migrations
from kit.http.bodies import Scope, Send
from kit.http.headers import valid_request_id
from kit.http.rendering import render_json
from kit.statement_timeout import own_connection
from kit.storage import clocks
from kit.storage.outage_causes import DISK_FULL, TIMEOUT, is_read_only, outage_cause, outages
from kit.version import VERSION

PROBES = frozenset({"/livez", "/readyz"})
SECONDS = 5  # time limit for the database
STEPS = 10  # after each, a database that is known to refuse connections is waited for no longer
ALIVE = {"status": "ok"}
Report = tuple[dict[str, object], int]  # body and status


def readiness() -> Report:
    """Return 503 if the database does not answer, lacks migrations or refuses writes. Redis may be missing."""
    limiter.inspect()  # so that the state is known before the first counted request
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if pending_migrations():
            return readiness_with("migrations_pending")
        if is_read_only():
            return readiness_with("read_only")
        if outages.is_disk_full():
            return readiness_with(DISK_FULL)
        clocks.watch.agrees()
    except Error as error:
        return readiness_with(outage_cause(error))
    return readiness_with("ok")


def readiness_with(database: str) -> Report:
    ready = database == "ok"
    checks = {"database": database, "limits": limiter.state()}
    if (fault := clocks.watch.fault()) is not None:  # it serves, but does no dated work
        checks["clock"] = fault
    body: dict[str, object] = {"status": "ok" if ready else "unavailable", "version": VERSION, "checks": checks}
    return body, 200 if ready else 503


class Readiness:
    """Checks readiness in its own thread; concurrent probes share one check."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self.asking: asyncio.Future[Report] | None = None

    async def __call__(self) -> Report:
        loop = asyncio.get_running_loop()
        if self.asking is None or self.asking.done() or self.asking.get_loop() is not loop:
            self.asking = loop.run_in_executor(self.thread, self.ask)
        asking = self.asking
        for _ in range(STEPS):
            await asyncio.wait([asking], timeout=SECONDS / STEPS)  # wait_for requires a task since Python 3.12
            if asking.done() or outages.pool_cause() is not None:  # the pool itself goes on trying
                break
        if not asking.done():
            return readiness_with(outages.pool_cause() or TIMEOUT)
        return asking.result()

    def ask(self) -> Report:
        with own_connection(SECONDS):
            return readiness()


ready = Readiness()


async def answer_probe(scope: Scope, send: Send) -> None:
    body: Mapping[str, object]
    if scope["path"] == "/livez":
        body = ALIVE
        status = 200
    else:
        body, status = await ready()
    content = render_json(body)
    sent_id = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(content)),
        (b"x-request-id", valid_request_id(sent_id).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})

"""Table layouts for recorded decisions: PostgreSQL's CPU time per decision of a batch of 50, and the time of lists.

    python -m benchmarks.layouts [--decisions 400000]

Compares a row per decision (the service's layout) with a row per request: without an index by item, with a GIN index
on its items, and moved to rows per decision later, as the roll-up could. Rows per request omit the note for the
rollups. Times are the server process's CPU, so other load on the machine matters little. Eight requests share a
commit, with `synchronous_commit` off: a commit costs every layout the same. The lists are the newest 20 decisions of
an item that has its share of them, and of a busy one.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from statistics import median
from typing import Any

import django
import psycopg

from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import parser, publish
from kit.storage.postgresql.async_postgres import Parameter

ITEMS, BUSY = 20_000, 20  # a fifth of all checks are of the BUSY items
SIZE, REQUESTS = 50, 8
TICKS = os.sysconf("SC_CLK_TCK")

Statement = tuple[str, list[Parameter]]

REQUEST_ROWS = """
CREATE TABLE request (id uuid PRIMARY KEY, account uuid NOT NULL, requester bigint NOT NULL,
  created timestamptz NOT NULL, ids uuid[] NOT NULL, contents uuid[] NOT NULL, policy uuid, policy_version int,
  allowed boolean NOT NULL, reason text, rule_index smallint, permission text, facts jsonb NOT NULL);
CREATE INDEX ON request (account, created);
CREATE INDEX ON request (requester, created)"""
INSERT_REQUESTS = """
WITH alike AS MATERIALIZED (
  SELECT (%s::uuid[])[first:last] AS ids, (%s::uuid[])[first:last] AS contents, alike.*
  FROM json_to_recordset(%s::json) AS alike (
    first int, last int, account uuid, epoch bigint, requester bigint, policy uuid, policy_version int,
    allowed boolean, reason text, rule_index smallint, permission text, facts jsonb, created timestamptz)
)
INSERT INTO request
SELECT ids[1], alike.account, requester, alike.created, ids, contents, policy, policy_version, allowed, reason,
  rule_index, permission, facts
FROM alike JOIN accounts_account account ON account.id = alike.account AND account.epoch = alike.epoch"""
MOVE = """
WITH moved AS (DELETE FROM request RETURNING *)
INSERT INTO analytics_accessevent (id, account_id, content_id, requester_id, policy_id, policy_version, allowed,
  reason, rule_index, permission, facts, created)
SELECT one.id, account, one.content, requester, policy, policy_version, allowed, reason, rule_index, permission,
  facts, created
FROM moved, unnest(ids, contents) AS one (id, content)"""
LIST_OF_ROWS = "SELECT id FROM analytics_accessevent WHERE content_id = %s ORDER BY created DESC LIMIT 20"
LIST_OF_REQUESTS = """SELECT one.id FROM request, unnest(ids, contents) AS one (id, content)
  WHERE contents @> ARRAY[%s::uuid] AND one.content = %s::uuid ORDER BY created DESC LIMIT 20"""


@dataclass
class Layout:
    name: str
    costs: list[float] = field(default_factory=list)  # µs a decision
    log: list[float] = field(default_factory=list)  # bytes of the write-ahead log
    size: float = 0  # bytes on disk, with indexes
    lists: tuple[float, float] | None = None  # ms


class Bench:
    def __init__(self, made: Installation, decisions: int) -> None:
        self.connection = psycopg.connect(made.database, autocommit=True)
        self.execute("SET synchronous_commit = off")
        self.random, self.decisions = Random(1), decisions
        self.account, self.epoch = self.one("SELECT id, epoch FROM accounts_account")
        (self.requester,) = self.one("SELECT id FROM licensing_requester")
        (self.policy,) = self.one("SELECT id FROM licensing_policy")
        (self.facts,) = self.one("SELECT facts FROM analytics_accessevent LIMIT 1")
        self.items = [self.random.randbytes(16).hex() for _ in range(ITEMS)]

    def execute(self, statement: str, parameters: Any = ()) -> psycopg.Cursor[Any]:
        return self.connection.execute(statement, parameters, prepare=True)

    def one(self, statement: str, parameters: Any = ()) -> Any:
        return self.execute(statement, parameters).fetchone()

    def cpu(self) -> float:
        with open(f"/proc/{self.connection.info.backend_pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def batches(self) -> Iterator[Statement]:
        """Yield the recorder's statements."""
        from analytics.recording.batch import Batch  # noqa: PLC0415 - need settings
        from analytics.recording.entries import Case, Entry  # noqa: PLC0415 - need settings
        from kit.values import ids  # noqa: PLC0415

        for _ in range(self.decisions // SIZE // REQUESTS):
            entries = []
            for _ in range(REQUESTS):
                now = datetime.now(UTC)
                _, keys = ids.successive("dec", SIZE, int(now.timestamp() * 1e9))
                busy, others = self.items[:BUSY], self.items[BUSY:]
                chosen = self.random.choices(busy, k=SIZE // 5) + self.random.choices(others, k=SIZE - SIZE // 5)
                case = Case(
                    account=self.account.hex,
                    epoch=self.epoch,
                    requester=self.requester,
                    policy=self.policy.hex,
                    policy_version=1,
                    allowed=True,
                    rule_index=0,
                    permission="commercial_use",
                    facts=self.facts,
                    created=now.isoformat(),
                )
                entries.append(Entry(case, keys, chosen))
            yield Batch(entries).statement()

    def measure(self, layout: Layout, change: Callable[[Statement], Statement], after: str = "") -> None:
        """Record, running `after` after every hundred commits."""
        self.execute("TRUNCATE analytics_accessevent, analytics_recentusage")
        self.execute("DROP TABLE IF EXISTS request")
        if layout.name != ROW_PER_DECISION:
            for statement in REQUEST_ROWS.split(";"):
                self.execute(statement)
        if "GIN" in layout.name:
            self.execute("CREATE INDEX by_item ON request USING gin (contents)")
        made = [change(batch) for batch in self.batches()]
        (began_at,) = self.one("SELECT pg_current_wal_insert_lsn()")
        began = self.cpu()
        for number, (statement, parameters) in enumerate(made, 1):
            self.execute(statement, parameters)
            if after and (number % 100 == 0 or number == len(made)):
                self.execute(after)
        layout.costs.append((self.cpu() - began) / self.decisions * 1e6)
        (log,) = self.one("SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", [began_at])
        layout.log.append(float(log) / self.decisions)
        rows = layout.name == ROW_PER_DECISION or bool(after)
        counted = "SELECT count(*) FROM analytics_accessevent" if rows else "SELECT sum(cardinality(ids)) FROM request"
        (stored,) = self.one(counted)
        expect(stored == len(made) * SIZE * REQUESTS, f"{layout.name} stored {stored} decisions")
        stored_in = "analytics_accessevent%%" if rows else "request"
        (size,) = self.one(
            f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE '{stored_in}' AND relkind = 'r'"  # noqa: S608
        )
        layout.size = float(size) / stored
        if rows or "GIN" in layout.name:
            table = "analytics_accessevent" if rows else "request"
            self.connection.execute(f"VACUUM ANALYZE {table}")
            layout.lists = self.listed(rows, self.items[-1]), self.listed(rows, self.items[0])

    def listed(self, rows: bool, item: str) -> float:
        """Return the list's median time in milliseconds."""
        took = []
        for _ in range(9):
            began = time.perf_counter()
            found = self.execute(
                LIST_OF_ROWS if rows else LIST_OF_REQUESTS, [item] if rows else [item, item]
            ).fetchall()
            took.append((time.perf_counter() - began) * 1000)
            expect(bool(found), "an item has no decisions")
        return median(took)


ROW_PER_DECISION = "a row per decision, as stored"


def as_requests(statement: Statement) -> Statement:
    return INSERT_REQUESTS, statement[1]


def layouts(bench: Bench, rounds: int) -> list[Layout]:
    rows = Layout(ROW_PER_DECISION)
    bare = Layout("a row per request, no list by item")
    gin = Layout("a row per request, GIN index by item")
    moved = Layout("a row per request, moved to rows per decision")
    for _ in range(rounds):
        bench.measure(rows, lambda statement: statement)
        bench.measure(bare, as_requests)
        bench.measure(gin, as_requests)
        bench.measure(moved, as_requests, after=MOVE)
    return [rows, bare, gin, moved]


def table(found: list[Layout]) -> str:
    lines = [
        "| layout | PostgreSQL, µs CPU a decision | write-ahead log, bytes | on disk, bytes | "
        "newest 20 of an item, ms | of a busy item, ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        few, many = (f"{ms:.1f}" for ms in one.lists) if one.lists else ("", "")
        lines.append(
            f"| {one.name} | {median(one.costs):.1f} | {median(one.log):.0f} | {one.size:.0f} | {few} | {many} |"
        )
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.add_argument("--decisions", type=int, default=400_000)
    options = arguments.parse_args()
    options.seconds = None
    with workplace() as (stack, directory, services):
        made = installed(stack, "layouts", directory, services)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        made.expect_decisions(item, LICENSED, UNLICENSED)
        made.server.stop()
        os.environ.update(made.environment)
        django.setup()
        found = layouts(Bench(made, options.decisions), options.rounds)
    results = {re.sub(r"\W+", " ", one.name): {"costs": one.costs, "log": one.log} for one in found}
    publish("layouts", table(found), results, options)


if __name__ == "__main__":
    main()

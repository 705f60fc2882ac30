"""Large amounts of data for benchmarks.growth: rows cloned by SQL from rows created through the API.

A clone copies all columns, so this module lists only those that differ.
"""

import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.load import DONE
from benchmarks.ours import Installation
from benchmarks.traffic import zipf
from kit.values import ids

CHUNK = 1_000_000
DAYS = 365
REQUESTER_WIDTH, CONTENT_WIDTH = 14, 30

MAKE_PARTITIONS = f"""
from datetime import timedelta
from django.utils import timezone
from analytics.events.partitions import ensure_partitions
ensure_partitions(timezone.now() - timedelta(days={DAYS}), months_ahead=13)
"""

MAKE_DAILY_PARTITIONS = """
from datetime import timedelta
from django.utils import timezone
from analytics.events.partitions import Span, make_partition, month_start
for number in range({count}):
    make_partition(Span.of_day(month_start(timezone.now()) - timedelta(days=number + 1)))
"""


def uuid7(milliseconds: str, salt: str) -> str:
    """Return SQL for a UUIDv7 of that time, whose other bits depend on the salt and the row number n."""
    digits = f"md5('{salt}' || n)"
    return (
        f"(lpad(to_hex({milliseconds}), 12, '0') || '7' || substr({digits}, 1, 3)"
        f" || '8' || substr({digits}, 4, 15))::uuid"
    )


def one_of(table: str) -> str:
    """Return SQL for an array of all ids of a table, computed once per statement."""
    return f"(ARRAY(SELECT id FROM {table}))"  # noqa: S608 - made of constants


class Data:
    """Data to add to an installation by SQL."""

    def __init__(self, made: Installation) -> None:
        self.made = made
        self.connection = psycopg.connect(made.database, autocommit=True)
        self.now = datetime.now(UTC)
        self.begin = int((self.now - timedelta(days=DAYS)).timestamp() * 1000)

    def clone(self, table: str, count: int, begin: int = 1, **values: str | None) -> None:
        """Copy the table's first row for each n from `begin` on, with the SQL given; None omits a column."""
        rows = self.connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
            " AND is_generated = 'NEVER' ORDER BY ordinal_position",
            [table],
        )
        columns = [name for (name,) in rows if values.get(name, "") is not None]
        shown = [values.get(name) or f'seed."{name}"' for name in columns]
        for first in range(begin, begin + count, CHUNK):
            last = min(first + CHUNK, begin + count) - 1
            if count > CHUNK:
                print(f"{self.made.name}: rows {first:,} to {last:,} of {table}", file=sys.stderr, flush=True)
            names = ", ".join(f'"{name}"' for name in columns)
            self.execute(
                f"INSERT INTO {table} ({names}) SELECT {', '.join(shown)} "  # noqa: S608 - made of constants
                f"FROM (SELECT * FROM {table} LIMIT 1) seed, generate_series({first}, {last}) n"
            )

    def execute(self, statement: str) -> None:
        self.connection.execute(sql.SQL(statement))

    def policies(self, count: int) -> None:
        """Create policies up to this total, each with its revision."""
        key = uuid7(f"{self.begin} + n", "policy")
        self.clone("licensing_policy", count - 1, id=key)
        self.clone("licensing_policyrevision", count - 1, id=uuid7(f"{self.begin} + n", "revision"), policy_id=key)

    def items(self, count: int, policies: int) -> None:
        """Create items up to this total, linked to the policies in turn."""
        policy = "seed.policy_id"
        if policies > 1:
            policy = f"{one_of('licensing_policy')}[1 + n % {policies}]"
        created = "seed.created - n * interval '1 millisecond'"
        self.clone(
            "licensing_content",
            count - 1,
            id=uuid7(f"{self.begin} + n", "content"),
            policy_id=policy,
            created=created,
            updated=created,
        )

    def requesters(self, count: int) -> list[str]:
        """Create this number of further requesters, with their own ids."""
        self.clone(
            "licensing_requester", count, id=None, name="NULL", requester_id="'requester' || lpad(n::text, 5, '0')"
        )
        rows = self.connection.execute("SELECT requester_id FROM licensing_requester WHERE name IS NULL")
        return [name for (name,) in rows]

    def events(self, count: int) -> None:
        """Create this number of decisions, spread over a year and all items."""
        if not count:
            return
        self.made.manage("shell", "--verbosity", "0", "-c", MAKE_PARTITIONS)
        moment = f"{self.begin} + (n::bigint * {DAYS * 86_400_000}) / {count + 1}"
        contents = self.connection.execute("SELECT count(*) FROM licensing_content").fetchone()[0]  # type: ignore[index]
        self.clone(
            "analytics_accessevent",
            count,
            id=uuid7(moment, "event"),
            created=f"to_timestamp(({moment}) / 1000.0)",
            content_id=f"{one_of('licensing_content')}[1 + n % {contents}]",
        )

    def daily_partitions(self, count: int) -> None:
        """Create this number of partitions of a day each, before this month."""
        if count:
            self.made.manage("shell", "--verbosity", "0", "-c", MAKE_DAILY_PARTITIONS.format(count=count))

    def content_ids(self) -> list[str]:
        rows = self.connection.execute("SELECT id FROM licensing_content")
        return [ids.encode("cnt", key.bytes) for (key,) in rows]

    def close(self) -> None:
        """Vacuum and checkpoint now, so that neither happens during the measurement, and disconnect."""
        self.execute("VACUUM ANALYZE")
        self.execute("CHECKPOINT")
        self.connection.close()


# --- Which item and requester each request is of ---------------------------------------------------------------------


def draw(members: Sequence[Any], count: int, how: str) -> list[Any]:
    """Draw members: `uniform` equally often, `zipf` in proportion to 1/k for rank k (s = 1)."""
    if how == "uniform":
        return random.choices(members, k=count)
    shuffled = random.sample(members, len(members))
    return random.choices(shuffled, cum_weights=zipf(len(members)), k=count)


def drawn_script(
    path: Path, made: Installation, items: list[str], requesters: list[str], how: str, count: int
) -> Path:
    """Write a wrk script that sends a predrawn list of requests, starting at a random position."""
    pairs = zip(draw(items, count, how), draw(requesters, count, how), strict=True)
    drawn = path.with_suffix(".draws")
    drawn.write_text("".join(item + requester for item, requester in pairs))
    assert drawn.stat().st_size == count * (CONTENT_WIDTH + REQUESTER_WIDTH)
    parts = ['{"contentId":"', '","requester":{"id":"', '","licenseType":"commercial","hasValidLicense":true}}']
    length = sum(map(len, parts)) + CONTENT_WIDTH + REQUESTER_WIDTH
    headers = {**made.headers, "Host": f"127.0.0.1:{made.port}", "Content-Length": str(length)}
    head = "POST /v1/access/check HTTP/1.1\\r\\n" + "".join(
        f"{name}: {value}\\r\\n" for name, value in headers.items()
    )
    path.write_text(
        f"""
local file = io.open("{drawn}", "rb")
local drawn = file:read("*a")
file:close()
local width = {CONTENT_WIDTH + REQUESTER_WIDTH}
local count = #drawn / width
math.randomseed(os.time())
local at = math.random(count)
local head = "{head}\\r\\n" .. '{parts[0]}'
function request()
  at = at % count + 1
  local first = (at - 1) * width
  local item = drawn:sub(first + 1, first + {CONTENT_WIDTH})
  local requester = drawn:sub(first + {CONTENT_WIDTH + 1}, first + width)
  return head .. item .. '{parts[1]}' .. requester .. '{parts[2]}'
end
"""
        + DONE
    )
    return path

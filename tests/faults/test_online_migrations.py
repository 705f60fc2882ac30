"""Migrations from an older version on a populated database, while somebody watches the locks that they hold.

MIGRATED_DECISIONS=2000000 before a release; there is one item and one requester for ten decisions.
"""

import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from launcher.testing import SETTINGS
from run import ROOT
from tests.services import Postgres, postgres

pytestmark = pytest.mark.faults

FROM = ("analytics", "0015_statements")  # with what it depends on
DECISIONS = int(os.environ.get("MIGRATED_DECISIONS") or 20_000)
LONGEST_SECONDS = 0.2  # how long a lock is held is what is tested
POLL_SECONDS = 0.01

# Tables that checks read or write. Decisions have a partition for each month, named after their table.
HOT = [
    "accounts_account",
    "accounts_apikey",
    "accounts_epochchange",
    "accounts_idempotencyrecord",
    "analytics_accessevent",
    "analytics_hourlyusage",
    "analytics_entry",
    "analytics_ledgerentry",
    "analytics_recentrevenue",
    "analytics_recentusage",
    "analytics_ruleusage",
    "analytics_wallet",
    "analytics_grant",
    "analytics_walletentry",
    "licensing_content",
    "licensing_license",
    "licensing_policy",
    "licensing_policyrevision",
    "licensing_requester",
    "licensing_site",
]

HELD = """
SELECT lock.pid, coalesce(owner.relname, class.relname) FROM pg_locks lock
  JOIN pg_class class ON class.oid = lock.relation
  LEFT JOIN pg_index index ON index.indexrelid = class.oid
  LEFT JOIN pg_class owner ON owner.oid = index.indrelid
WHERE lock.granted AND lock.mode = 'AccessExclusiveLock' AND lock.pid <> pg_backend_pid()"""

ROWS = """
INSERT INTO accounts_account (id, name, plan, created, epoch, is_demo)
VALUES ('00000000-0000-7000-8000-000000000001', 'Publisher', 'pro', now(), 1, false);
INSERT INTO licensing_policy (id, name, rules, default_action, version, created, account_id, mode)
SELECT '00000000-0000-7000-8000-000000000002', 'Open', '[]', 'allow', 1, now(), id, 'enforce' FROM accounts_account;
INSERT INTO licensing_requester (requester_id, created, account_id)
SELECT 'org_' || n, now(), account.id FROM accounts_account account, generate_series(1, {tenth}) n;
INSERT INTO licensing_content
  (id, title, type, source, source_key, metadata_extra, tags, status, created, updated, account_id, policy_id)
SELECT gen_random_uuid(), 'Item ' || n, 'article', 'https://example.com/' || n,
  decode(md5('https://example.com/' || n), 'hex'), '{{}}', '[]', 'active', now(), now(), account.id, policy.id
FROM accounts_account account, licensing_policy policy, generate_series(1, {tenth}) n;
INSERT INTO analytics_accessevent
  (id, allowed, reason, facts, created, account_id, content_id, policy_id, requester_id)
SELECT
  (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008' || substr(md5(n::text), 1, 15))::uuid,
  n % 3 > 0, CASE WHEN n % 3 = 0 THEN 'no_license' END, '{{"ip": "192.0.2.7", "userAgent": "Mozilla/5.0"}}', moment,
  account.id, (SELECT id FROM licensing_content LIMIT 1), policy.id, 1 + n % {tenth}
FROM accounts_account account, licensing_policy policy, generate_series(1, {decisions}) n,
  LATERAL (SELECT now() - (n::float / {decisions}) * interval '90 days' AS moment) m;
INSERT INTO analytics_ledgerentry (id, type, amount, currency, occurred_at, created, account_id, requester_id)
SELECT gen_random_uuid(), 'adjustment', 10000, 'USD', now(), now(), account.id, n
FROM accounts_account account, generate_series(1, {tenth}) n;
INSERT INTO accounts_idempotencyrecord (key, fingerprint, status, reply, created, account_id)
SELECT 'key-' || n, '', 200, '', now() - n * interval '90 days' / {tenth}, account.id
FROM accounts_account account, generate_series(1, {tenth}) n;
"""


class Watch:
    """The longest time, in seconds, that a session held an ACCESS EXCLUSIVE lock on each table."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.longest: dict[str, float] = defaultdict(float)
        self.ended = threading.Event()
        self.polls = 0

    def watch(self) -> None:
        since: dict[tuple[int, str], float] = {}
        with psycopg.connect(self.url, autocommit=True) as session:
            while not self.ended.wait(POLL_SECONDS):
                now = time.monotonic()
                held = {(pid, table) for pid, table in session.execute(HELD).fetchall()}
                since = {one: since.get(one, now) for one in held}
                for (_, table), begun in since.items():
                    self.longest[table] = max(self.longest[table], now - begun)
                self.polls += 1

    def of(self, tables: list[str]) -> dict[str, float]:
        return {
            name: round(seconds, 2)
            for name, seconds in sorted(self.longest.items())
            if name in tables or name.startswith("analytics_accessevent_")
        }


@contextmanager
def watched(url: str) -> Iterator[Watch]:
    watch = Watch(url)
    thread = threading.Thread(target=watch.watch)
    thread.start()
    try:
        yield watch
    finally:
        watch.ended.set()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres(fsync=False) as server:
        yield server


def manage(server: Postgres, directory: Path, *command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"DATABASE_URL": server.url, "DATA_DIR": str(directory)}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_lock_that_is_held_for_long_would_be_seen(server: Postgres):
    with psycopg.connect(server.url, autocommit=True) as session, watched(server.url) as watch:
        session.execute("CREATE TABLE licensing_site (id int)")
        session.execute(f"DO $$ BEGIN LOCK TABLE licensing_site; PERFORM pg_sleep({2 * LONGEST_SECONDS}); END $$")
        session.execute("DROP TABLE licensing_site")
    assert watch.of(HOT)["licensing_site"] > LONGEST_SECONDS


def test_no_migration_keeps_checks_waiting(server: Postgres, tmp_path: Path):
    manage(server, tmp_path, "migrate", *FROM, "--verbosity", "0")
    manage(server, tmp_path, "shell", "--verbosity", "0", "-c", PARTITIONS)
    with psycopg.connect(server.url, autocommit=True) as session:
        session.execute(ROWS.format(decisions=DECISIONS, tenth=DECISIONS // 10).encode())
        session.execute("ANALYZE")
    begun = time.monotonic()
    with watched(server.url) as watch:
        manage(server, tmp_path, "migrate", "--verbosity", "0")
    print(f"{DECISIONS:,} decisions: {time.monotonic() - begun:.1f} s, {watch.polls} looks, {watch.of(HOT)}")
    assert watch.polls > 20
    too_long = {name: seconds for name, seconds in watch.of(HOT).items() if seconds > LONGEST_SECONDS}
    assert not too_long


PARTITIONS = """
from datetime import timedelta
from django.utils import timezone
from analytics.events.partitions import ensure_partitions
ensure_partitions(timezone.now() - timedelta(days=62), months_ahead=3)
"""

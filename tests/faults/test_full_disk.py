"""No room left for the database (contract §10), on SQLite: 503s, nothing answered is lost, and it heals by itself."""

import time

import pytest

from tests.faults.harness import Deployment
from tests.faults.ledger import Ledger

pytestmark = pytest.mark.faults


def test_a_full_disk_gives_enveloped_503s_and_loses_nothing_that_was_answered(server: Deployment, key: str) -> None:
    ledger = Ledger(server, key)
    log = server.directory / "db.sqlite3-wal"
    with ledger.load() as load:
        load.wait_for(100)
        server.let_files_grow_to(log.stat().st_size // 2)
        full_at = time.monotonic()
        load.wait_for(200)
        server.let_files_grow_to(None)
        room_at = time.monotonic()
        load.wait_for(200)

    amid = [exchange for exchange in load.exchanges if exchange.begun > full_at and exchange.ended < room_at]
    assert 503 in {exchange.reply.status for exchange in amid}
    assert {exchange.reply.status for exchange in load.exchanges if exchange.begun > room_at} == {200}
    assert 0 not in {reply.status for reply in load.replies}
    assert ledger.discrepancies() == []

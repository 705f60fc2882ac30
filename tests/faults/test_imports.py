"""Items are checked during imports: a check that begins after an import uses its data, in every process.

FAULT_ITEMS sets how many items there are.
"""

import csv
import os
import random
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.factories import ALLOW_ALL, DENY_ALL
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.traffic import Exchange, request, statuses, under_load

pytestmark = pytest.mark.faults

ITEMS = int(os.environ.get("FAULT_ITEMS") or (2_500 if ON_POSTGRESQL else 1_200))  # more than an import's transaction
TURNS = 4
BULK_ROWS = 1_000


def import_all(server: Deployment, account: str, path: Path, policy: str) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["externalId", "title"])
        rows.writerows([f"item-{number}", f"Item {number}"] for number in range(ITEMS))
    command = ["import_content", str(path), "--account", account, "--default", f"policyId={policy}"]
    assert server.manage(*command)["failed"] == 0


def write_in_bulk(server: Deployment, key: str, policy: str) -> None:
    rows = [{"externalId": f"item-{number}", "policyId": policy} for number in range(ITEMS)]
    with server.client(key) as client:
        for first in range(0, ITEMS, BULK_ROWS):
            reply = client.post("/v1/content/bulk", json={"items": rows[first : first + BULK_ROWS]}, timeout=60)
            assert {outcome["status"] for outcome in reply.json()["data"]} == {200}


def test_a_check_that_begins_after_an_import_is_decided_by_what_it_wrote(server: Deployment, tmp_path: Path) -> None:
    [(account, key, _)] = server.ask_shell("accounts", 1)
    with server.client(key) as client:
        policies = {True: client.policy(ALLOW_ALL), False: client.policy(DENY_ALL)}
        import_all(server, account, tmp_path / "items.csv", policies[False])
        listed = [client.get("/v1/content", params={"externalId": f"item-{n}"}).json()["data"][0] for n in range(100)]
    by_id = [{"contentId": item["id"]} for item in listed]

    def compose(number: int) -> tuple[None, bytes]:
        asked = random.choice(by_id)
        if random.random() < 0.5:
            asked = {"externalId": f"item-{random.randrange(ITEMS)}"}
        body = {**asked, "requester": f"org_{number}"}
        return None, request("POST", "/v1/access/check", key, body, Connection="keep-alive")

    written: list[tuple[float, float, bool]] = []  # when each import began and ended, and what it decided
    with under_load(server, compose, clients=8) as load:
        for turn in range(TURNS):
            begun, allowed = time.monotonic(), turn % 2 == 0
            if turn < TURNS / 2:
                import_all(server, account, tmp_path / "items.csv", policies[allowed])
            else:
                write_in_bulk(server, key, policies[allowed])
            written.append((begun, time.monotonic(), allowed))
            load.wait_for(100)
    written.append((time.monotonic(), 0, False))

    assert set(statuses(load.replies)) == {200}
    assert stale(load.exchanges, written) == []
    assert {True, False} == {one.reply.body["allowed"] for one in load.exchanges}


def stale(exchanges: Sequence[Exchange], written: Sequence[tuple[float, float, bool]]) -> list[Exchange]:
    """Return the checks between imports that contradict the latest import."""
    found = []
    for (_, ended, allowed), (following, _, _) in pairwise(written):
        between = [one for one in exchanges if one.begun > ended and one.ended < following]
        assert len(between) > 20
        found += [one for one in between if one.reply.body["allowed"] is not allowed]
    return found

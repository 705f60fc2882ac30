"""The usage report during recording by several processes, and during a rebuild of its rollups."""

import pytest

from tests.factories import ALLOW_ALL
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.traffic import Compose, Load, request, statuses, under_load

pytestmark = pytest.mark.faults

CHECKS = 400 if ON_POSTGRESQL else 200
LICENSED = {**ALLOW_ALL, "conditions": {"licenseType": "press", "hasValidLicense": True}}
TABLES = ("recentusage", "hourlyusage", "contentyear", "contentmonth", "requesteryear", "requestermonth")


@pytest.fixture
def items(server: Deployment, key: str) -> list[str]:
    with server.client(key) as client:
        return [client.item(LICENSED) for _ in range(3)]


def checks(key: str, items: list[str]) -> Compose:
    """Return checks of a few items and requesters, every other one denied."""
    count = iter(range(10**9))

    def compose(number: int) -> tuple[None, bytes]:
        turn = next(count)
        press = {"licenseType": "press", "hasValidLicense": True} if turn % 2 else {}
        requester = {"id": f"org_{turn % 7}", **press}
        body = {"contentId": items[turn % 3], "requester": requester}
        return None, request("POST", "/v1/access/check", key, body, Connection="keep-alive")

    return compose


def expect_sums(report: dict) -> int:
    """Check the report's sums; return its number of decisions."""
    summary, series = report["summary"], report["timeSeries"]
    for name, total in (("requests", "totalRequests"), ("allowed", "allowed"), ("denied", "denied")):
        assert sum(bucket[name] for bucket in series) == summary[total]
    assert sum(one["count"] for one in report["byDenialReason"]) == summary["denied"]
    assert sum(one["requests"] for one in report["topContent"]) == summary["totalRequests"]
    assert sum(one["requests"] for one in report["topRequesters"]) == summary["totalRequests"]
    return summary["totalRequests"]


def expect_everything(server: Deployment, key: str, items: list[str], load: Load) -> None:
    assert set(statuses(load.replies)) == {200}
    with server.client(key) as client:
        assert expect_sums(client.get("/v1/analytics/usage").json()) == len(load.replies)
        stats = [client.get(f"/v1/content/{item}").json()["stats"]["totalRequests"] for item in items]
        assert sum(stats) == len(load.replies)


def test_every_report_adds_up_while_decisions_are_recorded(server: Deployment, key: str, items: list[str]) -> None:
    with under_load(server, checks(key, items), clients=8) as load, server.client(key) as client:
        while len(load.exchanges) < CHECKS:
            answered = len(load.exchanges)
            assert expect_sums(client.get("/v1/analytics/usage?period=7d").json()) >= answered
            server.manage("fold_usage")

    expect_everything(server, key, items, load)


def test_rollups_come_back_from_nothing_while_decisions_are_recorded(server, key, items):
    with under_load(server, checks(key, items), clients=8) as load:
        load.wait_for(CHECKS // 4)
        wipe(server)
        found = server.manage("rebuild_usage")
        load.wait_for(CHECKS // 4)
        beside = server.manage("rebuild_usage", "--check")

    assert found["rows"] > 0
    assert beside["rows"] == 0
    expect_everything(server, key, items, load)
    assert server.manage("rebuild_usage", "--check")["rows"] == 0


def wipe(server: Deployment) -> None:
    """Empty the usage rollups and their queue, which the service never does."""
    for table in TABLES:
        server.change(f"DELETE FROM analytics_{table}")  # noqa: S608

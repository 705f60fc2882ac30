"""Simultaneous updates of one policy (docs/reference/policies.md): none is lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults


def test_50_simultaneous_patches_raise_the_version_by_50_and_leave_51_revisions(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        path = f"/v1/policies/{client.post('/v1/policies', json={'name': 'before'}).json()['id']}"

        replies = at_once(server, [request("PATCH", path, key, {"name": f"name {n}"}) for n in range(50)])

        assert statuses(replies) == {200: 50}
        assert sorted(reply.body["version"] for reply in replies) == list(range(2, 52))
        assert client.get(path).json()["version"] == 51
        revisions = client.get(f"{path}/versions", params={"limit": 100}).json()
        assert [revision["version"] for revision in revisions["data"]] == list(range(51, 0, -1))
        names = {reply.body["version"]: reply.body["name"] for reply in replies}
        assert {revision["version"]: revision["name"] for revision in revisions["data"]} == {1: "before", **names}


WRITERS = 100


def test_of_simultaneous_writers_who_saw_the_same_version_one_writes(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        made = client.post("/v1/policies", json={"name": "before"})
        path, seen = made.headers["Location"], {"If_Match": made.headers["ETag"]}

        replies = at_once(server, [request("PATCH", path, key, {"name": f"name {n}"}, **seen) for n in range(50)])

        assert statuses(replies) == {200: 1, 412: 49}
        [written] = [reply.body for reply in replies if reply.status == 200]
        assert client.get(path).json() == written


def test_of_100_writers_who_each_add_a_rule_to_what_they_read_each_version_is_written_once(server, key):
    with server.client(key) as client:
        path = client.post("/v1/policies", json={"name": "shared"}).headers["Location"]

        def add_rule(number: int) -> int:
            """Add a rule, retrying after conflicts; return the version written."""
            while True:
                read = client.get(path)
                rules = [*read.json()["rules"], {"action": "deny", "conditions": {"requesterId": f"org_{number}"}}]
                reply = client.patch(path, json={"rules": rules}, headers={"If-Match": read.headers["ETag"]})
                if reply.status_code == 200:
                    version: int = reply.json()["version"]
                    return version
                assert reply.status_code == 412

        with ThreadPoolExecutor(8) as writers:
            versions = list(writers.map(add_rule, range(WRITERS)))

        assert sorted(versions) == list(range(2, WRITERS + 2))
        rules = client.get(path).json()["rules"]
        assert sorted(rule["conditions"]["requesterId"] for rule in rules) == sorted(
            f"org_{number}" for number in range(WRITERS)
        )

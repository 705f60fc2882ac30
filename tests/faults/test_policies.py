"""Simultaneous updates of one policy (docs/policies.md): none is lost."""

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

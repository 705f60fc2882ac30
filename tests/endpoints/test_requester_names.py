import pytest

from tests import factories


@pytest.fixture
def item(account):
    return factories.content(account, policy=factories.policy(account, factories.ALLOW_ALL))


def name_of(api, requester_id="org_n"):
    return api.get(f"/v1/requesters/{requester_id}")["name"]


def test_a_check_names_only_unnamed_requesters(connect, api, account, item):
    checking = connect(factories.key_text(account, permissions=["access:check"]))

    def check(**requester):
        reply = checking.post("/v1/access/check", {"contentId": item.pk, "requester": {"id": "org_n", **requester}})
        return reply["requester"]["name"]

    assert check() is None
    assert name_of(api) is None
    assert check(name="First Ltd") == "First Ltd"
    assert check(name="Mallory Inc") == check(name=None) == check() == name_of(api) == "First Ltd"
    plain = checking.post("/v1/access/check", {"contentId": item.pk, "requester": "org_n"})["requester"]
    assert plain == {"id": "org_n", "name": "First Ltd"}
    assert {one["requester"]["name"] for one in api.get("/v1/access/decisions").body["data"]} == {None, "First Ltd"}
    assert api.get("/v1/requesters/org_n")["updated"] is None
    assert api.patch("/v1/requesters/org_n", {"name": "Second Ltd"})["name"] == "Second Ltd"
    assert check(name="First Ltd") == check() == name_of(api) == "Second Ltd"
    assert api.patch("/v1/requesters/org_n", {"name": None}).status == 200
    assert check(name="Third Ltd") == name_of(api) == "Third Ltd"


def test_of_several_names_in_a_batch_the_first_counts(connect, api, account, item):
    checking = connect(factories.key_text(account, permissions=["access:check"]))
    checks = [{"requester": {"id": "org_n", "name": name} if name else "org_n"} for name in (None, "One", "Two")]
    reply = checking.post("/v1/access/check/batch", {"contentId": item.pk, "checks": checks})
    assert {one["requester"]["name"] for one in reply["data"]} == {"One"}
    assert name_of(api) == "One"


def test_a_dry_run_shows_the_stored_name_and_stores_nothing(connect, api, account, item):
    checking = connect(factories.key_text(account, permissions=["access:check"]))
    body = {"contentId": item.pk, "requester": {"id": "org_n", "name": "Rehearsed"}, "dryRun": True}
    assert checking.post("/v1/access/check", body)["requester"]["name"] == "Rehearsed"
    assert api.get("/v1/requesters/org_n").status == 404
    api.post("/v1/requesters", {"id": "org_n", "name": "Real Ltd"})
    assert checking.post("/v1/access/check", body)["requester"]["name"] == "Real Ltd"


def test_licences_and_clients_name_only_unnamed_requesters(api):
    def issue(**fields):
        return api.post("/v1/licenses", {"requesterId": "org_n", "licenseType": "commercial", **fields})

    unnamed = issue()
    assert issue(requesterName="Real Ltd")["requesterName"] == "Real Ltd"
    assert issue(requesterName="Mallory Inc")["requesterName"] == "Real Ltd"
    path = f"/v1/licenses/{unnamed['id']}"
    assert api.get(path)["requesterName"] == "Real Ltd"
    for name in ("Mallory Inc", None):
        assert api.patch(path, {"requesterName": name})["requesterName"] == "Real Ltd"
    rows = [{"id": unnamed["id"], "requesterName": "Mallory Inc"}]
    rows += [{"requesterId": "org_n", "licenseType": "x", "requesterName": "Mallory Inc"}]
    rows += [{"requesterId": "org_m", "licenseType": "x", "requesterName": name} for name in (None, "Early", "Late")]
    outcomes = api.post("/v1/licenses/bulk", {"items": rows})["data"]
    assert [one["status"] for one in outcomes] == [200, 201, 201, 201, 201]
    assert (name_of(api), name_of(api, "org_m")) == ("Real Ltd", "Early")
    client = api.post("/v1/license-clients", {"requesterId": "org_n", "requesterName": "Mallory Inc", "name": "Bot"})
    assert client["requesterName"] == name_of(api) == "Real Ltd"


def test_a_change_of_a_name_is_in_the_audit_log_and_an_event(api):
    api.post("/v1/requesters", {"id": "org_n", "name": "Real Ltd", "notes": "Pays late."})
    api.patch("/v1/requesters/org_n", {"name": "Renamed Ltd"})
    [event] = api.get("/v1/events", objectId="org_n").body["data"]
    assert (event["type"], event["data"]["name"]) == ("requester.updated", "Renamed Ltd")
    assert event["previous"] == {"name": "Real Ltd"}
    [entry, created] = api.get("/v1/audit", resourceType="requester", resourceId="org_n").body["data"]
    assert (created["action"], entry["action"]) == ("requester.created", "requester.updated")
    assert entry["changes"] == {"name": ["Real Ltd", "Renamed Ltd"]}

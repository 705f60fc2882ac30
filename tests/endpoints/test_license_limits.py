import pytest

from tests import factories


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr("licensing.licenses.services.MAX_LICENSES", 3)
    monkeypatch.setattr("licensing.licenses.services.MAX_SCOPE_ENTRIES", 10)


@pytest.fixture
def issue(api):
    def send(requester="org_acme", **fields):
        return api.post("/v1/licenses", {"requesterId": requester, "licenseType": "commercial", **fields})

    return send


def tags(count):
    return [f"tag {number}" for number in range(count)]


def test_the_number_of_licences_of_a_requester_is_limited(api, issue):
    held = [issue()["id"] for _ in range(3)]
    refused = issue()
    assert (refused.status, refused.error["code"], refused.error["param"]) == (422, "invalid_request", "requesterId")
    assert "at most 3 licences" in refused.error["message"]
    assert api.get("/v1/licenses")["totalCount"] == 3
    assert issue("somebody_else").status == 201
    assert api.patch(f"/v1/licenses/{held[0]}", {"licenseType": "personal"}).status == 200
    for one in held:
        api.post(f"/v1/licenses/{one}/revoke")
    assert issue().status == 422  # ended ones count, too


def test_the_total_size_of_the_licences_of_a_requester_is_limited(api, issue, account):
    item, policy = factories.content(account), factories.policy(account)
    assert issue(contentIds=[item.pk], policyIds=[policy.pk], tags=tags(4)).status == 201
    refused = issue(tags=tags(5))
    assert refused.status_and_param == (422, "requesterId")
    assert "10 items, tags and policies" in refused.error["message"]
    assert issue(tags=tags(4)).status == 201


def test_a_licence_cannot_grow_past_it_but_shrink(api, issue, monkeypatch):
    held = issue(tags=tags(9))["id"]
    assert api.patch(f"/v1/licenses/{held}", {"tags": tags(11)}).status == 422
    assert api.patch(f"/v1/licenses/{held}", {"tags": tags(10)}).status == 200
    monkeypatch.setattr("licensing.licenses.services.MAX_SCOPE_ENTRIES", 5)
    assert api.patch(f"/v1/licenses/{held}", {"tags": tags(9), "requesterName": "Acme"}).status == 200

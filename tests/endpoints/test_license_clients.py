from django.utils import timezone

from licensing.clients.models import LicenseClient
from licensing.clients.services import authenticate
from licensing.requesters.models import Requester
from tests import auditlog


def works(client_id, secret):
    return authenticate(client_id, secret, timezone.now()) is not None


def create(api, **fields):
    return api.post("/v1/license-clients", {"requesterId": "org_acme", **fields})


def test_a_client_comes_with_its_secret_once(api, account):
    made = create(api, name="Crawler", requesterName="Acme")
    assert made.status == 201
    assert works(made["id"], made["secret"])
    assert made["secret"].startswith(made["prefix"])
    assert (made["requesterId"], made["requesterName"], made["name"]) == ("org_acme", "Acme", "Crawler")
    shown = api.get(f"/v1/license-clients/{made['id']}")
    assert shown.body == {name: value for name, value in made.body.items() if name != "secret"}
    assert made["secret"] not in str(LicenseClient.objects.values())
    assert made.headers["Cache-Control"] == "no-store"
    assert create(api)["name"] == "org_acme"
    create(api, requesterId="org_new")
    assert Requester.objects.filter(account=account, requester_id="org_new").exists()
    first, second = create(api), create(api)
    assert not works(first["id"], second["secret"])
    for fields, param in [({"requesterId": ""}, "requesterId"), ({"name": 1}, "name")]:
        assert create(api, **fields).status_and_param == (422, param)


def test_a_secret_ends_with_rotation_and_revocation_which_are_audited(api):
    made = create(api)
    path = f"/v1/license-clients/{made['id']}"
    second = api.post(f"{path}/rotate", {"overlapSeconds": 3600})
    assert (second.status, second["id"]) == (200, made["id"])
    assert [works(made["id"], one["secret"]) for one in (made, second)] == [True, True]
    third = api.post(f"{path}/rotate", {})
    assert third["formerSecretUntil"] is None
    assert [works(made["id"], one["secret"]) for one in (made, second, third)] == [False, False, True]
    revoked = api.delete(path)
    assert revoked["revokedAt"] is not None
    assert not works(made["id"], third["secret"])
    assert api.delete(path)["revokedAt"] == revoked["revokedAt"]
    assert api.post(f"{path}/rotate", {}).status_and_code == (409, "resource_revoked")
    entries = auditlog.entries(resource_id=made["id"])
    assert [entry.action.removeprefix("license_client.") for entry in entries] == [
        "created", "rotated", "rotated", "revoked",
    ]  # fmt: skip
    assert made["secret"] not in str([entry.changes for entry in entries])

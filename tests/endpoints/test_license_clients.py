"""/v1/license-clients: credentials for the licence server."""

from django.utils import timezone

from licensing.clients.models import LicenseClient
from licensing.clients.services import authenticate
from licensing.requesters.models import Requester
from tests import auditlog, factories


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
        reply = create(api, **fields)
        assert (reply.status, reply.error["param"]) == (422, param)


def test_a_secret_ends_with_rotation_and_revocation_which_are_audited(api):
    made = create(api)
    second = api.post(f"/v1/license-clients/{made['id']}/rotate", {"overlapSeconds": 3600})
    assert second.status == 200
    assert second["id"] == made["id"]
    assert works(made["id"], made["secret"])
    assert works(made["id"], second["secret"])
    third = api.post(f"/v1/license-clients/{made['id']}/rotate", {})
    assert third["formerSecretUntil"] is None
    assert [works(made["id"], one["secret"]) for one in (made, second, third)] == [False, False, True]
    revoked = api.delete(f"/v1/license-clients/{made['id']}")
    assert revoked["revokedAt"] is not None
    assert not works(made["id"], made["secret"])
    assert api.delete(f"/v1/license-clients/{made['id']}")["revokedAt"] == revoked["revokedAt"]
    again = api.post(f"/v1/license-clients/{made['id']}/rotate", {})
    assert (again.status, again.error["code"]) == (409, "resource_revoked")


def test_the_audit_log_has_each_change_and_no_secret(api):
    made = create(api)
    api.post(f"/v1/license-clients/{made['id']}/rotate", {})
    api.delete(f"/v1/license-clients/{made['id']}")
    entries = auditlog.entries(resource_id=made["id"])
    actions = ["license_client.created", "license_client.rotated", "license_client.revoked"]
    assert [entry.action for entry in entries] == actions
    assert made["secret"] not in str([entry.changes for entry in entries])


def test_clients_are_found_by_their_requester(api, account):
    made, _ = factories.license_client(account, "org_a")
    factories.license_client(account, "org_b")
    assert [one["id"] for one in api.get("/v1/license-clients", requesterId="org_a")["data"]] == [made.pk]

from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import AuditEntry
from analytics.models import AccessEvent
from config.management import append_only
from licensing.clients.models import LicenseClient
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import create_requester
from licensing.sites.models import Site
from tests import auditlog, factories, ledger
from tests.client import ApiClient
from tests.conventions.filtering import (
    AUDIT,
    CLIENTS,
    DAYS,
    DECISIONS,
    LEDGER,
    LICENSES,
    PAST,
    POLICIES,
    REQUESTERS,
    SITES,
    check_filter,
    filled,
)
from tests.standing import as_new


def rows_of_policies(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in POLICIES.items()}
        policy = factories.policy(account, name=row["name"], default_action=row["defaultAction"], mode=row["mode"])
        known[f"row{index}"] = policy.pk
        updated = DAYS[index] if row["updated"] else None
        Policy.objects.filter(pk=policy.pk).update(version=row["version"], created=DAYS[index], updated=updated)
    return known


def rows_of_requesters(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in REQUESTERS.items()}
        made = create_requester(account.pk, {"requester_id": row["id"], "name": row["name"], "email": row["email"]})
        known[f"row{index}"] = made.requester_id
        updated = DAYS[index] if row["updated"] else None
        Requester.objects.filter(pk=made.pk).update(created=DAYS[index], updated=updated)
    return known


def rows_of_licenses(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in LICENSES.items()}
        expires_at = PAST[index] if row["expiresAt"] else None
        fields = {"license_type": row["licenseType"], "starts_at": DAYS[index], "expires_at": expires_at}
        held = factories.license(account, row["requesterId"], **fields)
        known[f"row{index}"] = held.pk
        if row["status"] == "revoked":
            revoke_license(held)
        License.objects.filter(pk=held.pk).update(created=DAYS[index], updated=DAYS[index])
    return known


def rows_of_clients(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in CLIENTS.items()}
        made, _ = factories.license_client(account, row["requesterId"], name=row["name"])
        known[f"row{index}"] = made.pk
        revoked = DAYS[index] if row["revokedAt"] else None
        LicenseClient.objects.filter(pk=made.pk).update(created=DAYS[index], revoked_at=revoked)
    return known


def rows_of_sites(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in SITES.items()}
        site = factories.site(account, **{name: row[name] for name in ("host", "mode", "unknown")})
        known[f"row{index}"] = site.pk
        Site.objects.filter(pk=site.pk).update(created=DAYS[index], updated=DAYS[index])
    return known


def rows_of_decisions(account):
    api = ApiClient(factories.key_text(account))
    p, q = (factories.policy(account, rule).pk for rule in (factories.ALLOW_LICENSED, factories.DENY_ALL))
    c, d, n = (factories.content(account, policy_id=policy).pk for policy in (p, q, None))
    known = {"p": p, "q": q, "c": c, "d": d, "n": n}
    licensed = {"licenseType": "commercial", "hasValidLicense": True}
    checks = [(c, {"id": "org_a", **licensed}), (d, {"id": "org_b", **licensed}), (c, "org_b"), (n, "org_d")]
    for index, (item, requester) in enumerate(checks):
        made = api.post("/v1/access/check", {"contentId": item, "requester": requester})
        known[f"row{index}"] = made["id"]
        AccessEvent.objects.filter(pk=made["id"]).update(created=DAYS[index])
    return known


def rows_of_the_ledger(account):
    known = {name: factories.content(account).pk for name in ("c", "d")}
    for index in range(4):
        row = {name: filled(values[index], known) for name, (values, _) in LEDGER.items()}
        made = ledger.add(
            account,
            type=row["type"],
            currency=row["currency"],
            requester=row["requesterId"] and ledger.requester(account, row["requesterId"]),
            content_id=row["contentId"],
            license_id=row["licenseId"],
            license_type=row["licenseType"],
            occurred_at=DAYS[3 - index],
            created=DAYS[index],
        )
        known[f"row{index}"] = made.pk
    return known


LISTS = {
    "/v1/policies": (POLICIES, rows_of_policies),
    "/v1/sites": (SITES, rows_of_sites),
    "/v1/requesters": (REQUESTERS, rows_of_requesters),
    "/v1/licenses": (LICENSES, rows_of_licenses),
    "/v1/license-clients": (CLIENTS, rows_of_clients),
    "/v1/access/decisions": (DECISIONS, rows_of_decisions),
    "/v1/revenue": (LEDGER, rows_of_the_ledger),
}


@pytest.fixture(scope="module")
def stocked(for_the_module):
    """A module-scoped account for each list, and ids by placeholder name; by the list's path."""
    with for_the_module():
        accounts = {path: factories.account() for path in LISTS}
        return {path: (account.pk, LISTS[path][1](account)) for path, account in accounts.items()}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, (fields, _) in LISTS.items() for name in fields])
def test_a_list_can_be_filtered_by(stocked, db, path, name):
    account_id, known = stocked[path]
    api = ApiClient(factories.key_text(as_new(account_id)))
    check_filter(api, path, LISTS[path][0], name, known)


@pytest.fixture
def rows_of_audit(api, account):
    """Move earlier log entries to another account."""
    [key] = account.api_keys.all()
    with append_only.unlocked():
        AuditEntry.objects.update(account=None)
    known = {"a": key.pk, "c": factories.content(account).pk, "p": api.post("/v1/policies", {"name": "x"})["id"]}
    api.patch(f"/v1/policies/{known['p']}", {"name": "y"})
    call_command("create_api_key", "--account", account.pk, "--name", "x", "--type", "public", stdout=StringIO())
    rows = auditlog.entries(account=account)
    with append_only.unlocked():
        for index, entry in enumerate(rows):
            AuditEntry.objects.filter(pk=entry.pk).update(created=DAYS[index])
    return {**known, "k": rows[3].resource_id, **{f"row{index}": row.pk for index, row in enumerate(rows)}}


@pytest.mark.parametrize("name", AUDIT)
def test_the_audit_log_can_be_filtered_by(api, rows_of_audit, name):
    check_filter(api, "/v1/audit", AUDIT, name, rows_of_audit)

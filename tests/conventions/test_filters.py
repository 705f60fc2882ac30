from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import AuditEntry
from analytics.models import AccessEvent
from config.management import append_only
from licensing.licenses.services import revoke_license
from tests import auditlog, factories, ledger
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS
from tests.conventions.filtering import DAYS, FIELDS, PAST, check_filter, filled
from tests.standing import as_new


def add_policy(account, index, row):
    policy = factories.policy(account, name=row["name"], default_action=row["defaultAction"], mode=row["mode"])
    return policy, policy.pk, {"version": row["version"], "updated": row["updated"] and DAYS[index]}


def add_requester(account, index, row):
    requester = factories.requester(account, requester_id=row["id"], name=row["name"], email=row["email"])
    return requester, requester.requester_id, {"updated": row["updated"] and DAYS[index]}


def add_license(account, index, row):
    expires_at = PAST[index] if row["expiresAt"] else None
    fields = {"license_type": row["licenseType"], "starts_at": DAYS[index], "expires_at": expires_at}
    held = factories.license(account, row["requesterId"], **fields)
    if row["status"] == "revoked":
        revoke_license(held)
    return held, held.pk, {"updated": DAYS[index]}


def add_client(account, index, row):
    client, _ = factories.license_client(account, row["requesterId"], name=row["name"])
    return client, client.pk, {"revoked_at": row["revokedAt"] and DAYS[index]}


def add_site(account, index, row):
    site = factories.site(account, **{name: row[name] for name in ("host", "mode", "unknown")})
    return site, site.pk, {"updated": DAYS[index]}


def four_rows(add, path, account):
    """Add four rows with the values of the list's fields, and return their ids by placeholder."""
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in FIELDS[path].items()}
        added, known[f"row{index}"], further = add(account, index, row)
        type(added).objects.filter(pk=added.pk).update(created=DAYS[index], **further)
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
        row = {name: filled(values[index], known) for name, (values, _) in FIELDS["/v1/revenue"].items()}
        about = {"content_id": row["contentId"], "license_id": row["licenseId"], "license_type": row["licenseType"]}
        about["requester"] = row["requesterId"] and ledger.requester(account, row["requesterId"])
        about |= {"occurred_at": DAYS[3 - index], "created": DAYS[index]}
        made = ledger.add(account, type=row["type"], currency=row["currency"], **about)
        known[f"row{index}"] = made.pk
    return known


ROWS = {
    "/v1/policies": partial(four_rows, add_policy, "/v1/policies"),
    "/v1/sites": partial(four_rows, add_site, "/v1/sites"),
    "/v1/requesters": partial(four_rows, add_requester, "/v1/requesters"),
    "/v1/licenses": partial(four_rows, add_license, "/v1/licenses"),
    "/v1/license-clients": partial(four_rows, add_client, "/v1/license-clients"),
    "/v1/access/decisions": rows_of_decisions,
    "/v1/revenue": rows_of_the_ledger,
}


@pytest.fixture(scope="module")
def stocked(for_the_module):
    """A module-scoped account for each list, and ids by placeholder name; by the list's path."""
    with for_the_module():
        accounts = {path: factories.account() for path in ROWS}
        return {path: (account.pk, ROWS[path](account)) for path, account in accounts.items()}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path in ROWS for name in FIELDS[path]])
def test_a_list_can_be_filtered_by(stocked, db, path, name):
    account_id, known = stocked[path]
    api = ApiClient(factories.key_text(as_new(account_id)))
    check_filter(api, path, FIELDS[path], name, known)


# Filters whose tests are beside those of their list's other behaviour.
TESTED_ELSEWHERE = {
    "/v1/content": {"tags"},
    "/v1/policies": {"externalId"},
    "/v1/sites": {"verifiedAt"},
    "/v1/licenses": {"externalId"},
    "/v1/access/decisions": {"url", "siteId", "referrer", "identifiedBy"},
    "/v1/revenue": {"externalId", "feeId", "decisionId"},
    "/v1/wallets": {"requesterId", "licenseId", "unit", "created"},
    "/v1/payments": {"requesterId", "created", "externalId", "receivedAt", "kind", "currency"},
    "/v1/statements": {"requesterId", "month", "currency", "status"},
    "/v1/events": {"type", "objectId", "created"},
    "/v1/webhooks/{webhook}/deliveries": {"eventId", "succeeded", "created"},
}


def test_every_filter_of_a_list_has_a_test():
    for endpoint in ENDPOINTS:
        declared = set() if endpoint.filters is None else set(endpoint.filters.operands)
        tested = FIELDS.get(endpoint.path, {}).keys() | TESTED_ELSEWHERE.get(endpoint.path, set())
        if endpoint.method == "GET":
            assert declared == tested, f"Add rows for the filters of {endpoint} to FIELDS in filtering.py."


def test_every_external_id_can_be_found_by_its_beginning():
    filters = [one.filters.operands for one in ENDPOINTS if one.filters is not None]
    assert all("startsWith" in of["externalId"].operators for of in filters if "externalId" in of)


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


@pytest.mark.parametrize("name", FIELDS["/v1/audit"])
def test_the_audit_log_can_be_filtered_by(api, rows_of_audit, name):
    check_filter(api, "/v1/audit", FIELDS["/v1/audit"], name, rows_of_audit)

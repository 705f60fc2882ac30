import ast
from unittest.mock import Mock

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction

from accounts.keys import keytext
from accounts.models import AuditEntry
from operators.middleware import OperatorMiddleware
from tests import auditlog, factories
from tests.client import ApiClient
from tests.conventions.endpoints import NOT_AUDITED, WITH_KEY, WRITES, each
from tests.source_files import PRODUCT, sources

CHANGES = [endpoint for endpoint in WITH_KEY if endpoint.method in WRITES and endpoint.path not in NOT_AUDITED]
each_change = each(CHANGES)
each_posted_change = each([endpoint for endpoint in CHANGES if endpoint.method == "POST"])
each_change_with_body = each([endpoint for endpoint in CHANGES if endpoint.body])


@pytest.fixture
def new(ids):
    """Return a function that returns the entries since the test began."""
    known = {entry.pk for entry in auditlog.entries()}
    return lambda: [entry for entry in auditlog.entries() if entry.pk not in known]


@each_change
def test_a_change_names_the_key_the_request_and_the_address(account, ids, new, endpoint):
    key, text = factories.api_key(account, name="Desk")
    endpoint.send(ApiClient(text, **{"X-Request-Id": "trace-7"}), ids)
    made = [entry for entry in new() if entry.resource_id != key.pk]
    assert made
    for entry in made:
        assert (entry.account_id, entry.actor_type, entry.actor_id) == (account.pk, "key", key.pk)
        assert (entry.actor_name, entry.request_id, entry.address) == (f"Desk ({key.prefix}…)", "trace-7", "127.0.0.1")
        assert entry.action.startswith(f"{entry.resource_type}.")
        assert entry.changes


@each_change
def test_a_refused_or_failed_change_leaves_no_entry_and_no_change(account, api, ids, endpoint, monkeypatch):
    holder = ApiClient(factories.key_text(account, permissions=[]))
    entries = AuditEntry.objects.count()
    assert endpoint.send(holder, ids).status == 403
    assert AuditEntry.objects.count() == entries

    write = AuditEntry.objects.bulk_create

    def write_and_fail(entries, *args):
        write(entries, *args)
        raise RuntimeError

    monkeypatch.setattr(AuditEntry.objects, "bulk_create", write_and_fail)
    assert endpoint.send(api, ids).status == 500
    assert AuditEntry.objects.count() == entries

    before = auditlog.rows_of_all_tables()
    monkeypatch.setattr(AuditEntry.objects, "bulk_create", Mock(side_effect=DatabaseError))
    assert endpoint.send(api, ids).status in (500, 503)
    after = auditlog.rows_of_all_tables()
    assert {name: rows for name, rows in after.items() if rows != before[name]} == {}


@each_change_with_body
def test_a_refused_body_leaves_no_entry(api, ids, new, endpoint):
    assert endpoint.send(api, ids, json={**endpoint.body, "unknown": 1}).status == 422
    assert new() == []


@each_posted_change
def test_a_replay_leaves_no_second_entry(api, ids, new, endpoint):
    first = endpoint.send(api, ids, headers={"Idempotency-Key": "k"})
    made = new()
    again = endpoint.send(api, ids, headers={"Idempotency-Key": "k"})
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert new() == made != []


def test_a_change_that_changes_nothing_leaves_no_entry(api, ids, new):
    api.patch(f"/v1/content/{ids['content']}", {"title": api.get(f"/v1/content/{ids['content']}")["title"]})
    api.delete(f"/v1/api-keys/{ids['key']}")
    made = new()
    api.delete(f"/v1/api-keys/{ids['key']}")
    assert [entry.action for entry in new()] == [entry.action for entry in made] == ["api_key.revoked"]


def test_no_entry_shows_a_key_or_its_digest(api, ids):
    made = api.post("/v1/api-keys", {"name": "x", "type": "secret"})
    rotated = api.post(f"/v1/api-keys/{made['id']}/rotate", {"overlapSeconds": 60})
    logged = str([list(row.values()) for row in AuditEntry.objects.values()])
    assert made["id"] in logged
    for text in (made["key"], rotated["key"]):
        digest = keytext.digest(text)
        for secret in (text[keytext.PREFIX_CHARACTERS :], digest.hex(), repr(digest)[2:-1]):
            assert secret not in logged


@pytest.mark.parametrize(
    ("command", "options", "actions"),
    [
        ("create_account", ["New"], ["account.created"]),
        ("create_api_key", ["--account", "{account}", "--name", "x", "--type", "public"], ["api_key.created"]),
        ("rotate_api_key", ["{key}"], ["api_key.created", "api_key.rotated"]),
        ("revoke_api_key", ["{key}"], ["api_key.revoked"]),
        ("create_operator", ["grace", "--role", "viewer", "--account", "{account}"], ["operator.created"]),
        ("purge_idempotency_keys", [], []),
        ("purge_events", ["--keep-days", "1"], []),
    ],
)
def test_a_command_is_named_with_the_user_who_ran_it(account, ids, new, monkeypatch, command, options, actions):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    call_command(command, *(text.format(account=account.pk, **ids) for text in options))
    assert [entry.action for entry in new()] == actions
    for entry in new():
        assert (entry.actor_type, entry.actor_id, entry.actor_name) == ("command", command, "ada")
        assert (entry.request_id, entry.address) == (None, None)


def test_a_user_without_a_name_is_recorded_without_one(account, new, monkeypatch):
    monkeypatch.setattr("getpass.getuser", Mock(side_effect=KeyError))
    call_command("create_account", "New")
    assert [entry.actor_name for entry in new()] == [None]


def answer_as_the_admin(rf, user, act, app_name="admin"):
    class Match:
        pass

    request = rf.post("/admin/")
    request.user, request.client_address, request.resolver_match = user, "203.0.113.9", Match()
    request.resolver_match.app_name = app_name
    middleware = OperatorMiddleware(lambda _: (middleware.process_view(request, None, (), {}), act()))
    middleware(request)


def test_only_during_a_request_to_the_admin_the_operator_is_named(account, new, rf):
    user = get_user_model().objects.create_user("grace")
    answer_as_the_admin(rf, user, lambda: factories.content(account))
    [entry] = by_the_operator = new()
    assert (entry.actor_type, entry.actor_id, entry.actor_name) == ("operator", str(user.pk), "grace")
    assert entry.address == "203.0.113.9"
    factories.content(account)
    answer_as_the_admin(rf, user, lambda: factories.content(account), app_name="")
    assert [entry.actor_type for entry in new() if entry not in by_the_operator] == ["system", "system"]


def functions_that_call(name):
    for path in sources(*PRODUCT):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and f"{name}(" in ast.unparse(node):
                yield f"{path.stem}.{node.name}", ast.unparse(node)


@pytest.mark.slow
def test_every_function_that_invalidates_a_cache_records_an_audit_entry():
    bumping = dict(functions_that_call("epochs.invalidate"))
    assert "services.save_content" in bumping
    silent = [name for name, source in bumping.items() if "audit.record" not in source]
    # Keys that only find items, and a part of an erasure, which is recorded as a whole.
    assert sorted(silent) == ["erased_copies.redact_policies", "rekeying.rekey_account"]


TAMPERING = {
    "update": lambda entry: AuditEntry.objects.filter(pk=entry.pk).update(action="x"),
    "delete": lambda entry: AuditEntry.objects.filter(pk=entry.pk).delete(),
    "delete one": lambda entry: entry.delete(),
    "save": lambda entry: entry.save(),
    "DELETE": lambda entry: connection.cursor().execute("DELETE FROM accounts_auditentry"),
    "UPDATE": lambda entry: connection.cursor().execute("UPDATE accounts_auditentry SET actor_name = 'x'"),
}
if connection.vendor == "postgresql":
    TAMPERING["TRUNCATE"] = lambda entry: connection.cursor().execute("TRUNCATE accounts_auditentry CASCADE")


def test_the_database_refuses_to_change_an_entry_which_outlives_its_account(account):
    [entry] = auditlog.entries(resource_id=account.pk)
    for name, tamper in TAMPERING.items():
        with pytest.raises(IntegrityError, match="The audit log only grows"), transaction.atomic():
            tamper(entry)
        [after] = auditlog.entries(resource_id=account.pk)
        assert (after.pk, after.action) == (entry.pk, "account.created"), name
    owner = account.pk
    account.delete()
    assert [entry.action for entry in auditlog.entries(account_id=owner)] == ["account.created"]

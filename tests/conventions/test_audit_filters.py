from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import AuditEntry
from config.management import append_only
from tests import auditlog, factories
from tests.conventions.filtering import AUDIT, DAYS, check_filter


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

"""Audit log helpers for tests."""

from typing import Any

from accounts.models import AuditEntry


def entries(**filters: Any) -> list[AuditEntry]:
    """Return the audit log's entries, oldest first."""
    return list(AuditEntry.objects.filter(**filters).order_by("created", "id"))

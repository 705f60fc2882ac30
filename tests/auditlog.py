"""Audit log helpers for tests."""

from typing import Any

from accounts.models import AuditEntry


def entries(**filters: Any) -> list[AuditEntry]:
    """Oldest first."""
    return list(AuditEntry.objects.filter(**filters).order_by("created", "id"))

"""Audit log helpers for tests."""

from typing import Any

from django.apps import apps

from accounts.models import AuditEntry


def entries(**filters: Any) -> list[AuditEntry]:
    """Return the audit log's entries, oldest first."""
    return list(AuditEntry.objects.filter(**filters).order_by("created", "id"))


def rows_of_all_tables() -> dict[str, list[dict[str, object]]]:
    """Return the rows of every table, without the last use of keys, which a refused request changes too."""
    tables: dict[str, list[dict[str, object]]] = {}
    for model in apps.get_models(include_auto_created=True):
        names = [field.attname for field in model._meta.concrete_fields if field.attname != "last_used_at"]
        tables[model._meta.label] = list(model._base_manager.order_by("pk").values(*names))
    return tables

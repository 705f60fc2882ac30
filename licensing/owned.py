"""Manager for account data that is deleted softly, by `deleted_at`."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

from django.db import connection, models

from kit.storage.columns import Columns
from kit.storage.prepared import prepared_cursor
from kit.values import ids

# Conflicts with the FOR UPDATE of a soft deletion, and neither with itself nor with updates of the row.
KEEP = "FOR KEY SHARE"


class OwnedManager(models.Manager):
    def kept(self) -> models.QuerySet:
        """Return rows that are not deleted."""
        return self.filter(deleted_at=None)

    def of(self, account_id: str) -> models.QuerySet:
        """Return the account's rows that are not deleted."""
        return self.kept().filter(account_id=account_id)

    @cached_property
    def columns(self) -> Columns[Any]:
        return Columns(self.model, "owned")

    @cached_property
    def statement(self) -> str:
        return (
            f"SELECT {self.columns.sql} FROM {self.model._meta.db_table} owned "  # noqa: S608 - names of the model
            "WHERE id = %s AND account_id = %s AND deleted_at IS NULL"
        )

    def one(self, account_id: str, id: str, *, keep: bool = False) -> Any:
        """Return the account's row with this id, or None if there is none or it is deleted.

        `keep` keeps the row from being deleted until the transaction ends, so that it can be linked to.
        """
        pk: Any = self.model._meta.pk
        if ids.decode(pk.prefix, id) is None:
            return None
        owner: Any = self.model._meta.get_field("account").target_field  # type: ignore[union-attr]
        with prepared_cursor() as cursor:
            cursor.execute(
                f"{self.statement} {KEEP}" if keep and connection.vendor == "postgresql" else self.statement,
                [pk.get_db_prep_value(id, connection), owner.get_db_prep_value(account_id, connection)],
            )
            row = cursor.fetchone()
        return None if row is None else self.columns.instance(row)

    def keep(self, account_id: str, ids: Collection[str]) -> set[str]:
        """Return which of these rows the account has, and keep them from being deleted until the transaction ends."""
        rows = self.of(account_id).filter(pk__in=ids).only("pk")
        if connection.vendor != "postgresql":
            return {row.pk for row in rows}
        sql, parameters = rows.query.sql_with_params()
        return {row.pk for row in self.raw(f"{sql} {KEEP}", parameters)}  # select_for_update has no KEY SHARE

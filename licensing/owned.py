"""Manager for account data that is deleted softly, by `deleted_at`."""

from functools import cached_property
from typing import Any

from django.db import connection, models

from kit.storage.columns import Columns
from kit.storage.prepared import prepared_cursor
from kit.values import ids


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

    def one(self, account_id: str, id: str, *, lock: bool = False) -> Any:
        """Return the account's row with this id, or None if there is none or it is deleted.

        `lock` locks the row until the transaction ends.
        """
        pk: Any = self.model._meta.pk
        if ids.decode(pk.prefix, id) is None:
            return None
        owner: Any = self.model._meta.get_field("account").target_field  # type: ignore[union-attr]
        with prepared_cursor() as cursor:
            cursor.execute(
                f"{self.statement} FOR UPDATE" if lock and connection.vendor == "postgresql" else self.statement,
                [pk.get_db_prep_value(id, connection), owner.get_db_prep_value(account_id, connection)],
            )
            row = cursor.fetchone()
        return None if row is None else self.columns.instance(row)

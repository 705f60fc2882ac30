"""Manager for account data that is deleted softly, by `deleted_at`."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from django.db import connection, models

from kit.storage.prepared import Columns, key_share, prepared_cursor
from kit.values import ids

Row = Sequence[Any]
Build = Callable[[str, str], tuple[str, Row]]


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

    def find(self, account_id: str, id: str, *, keep: bool = False) -> Any:
        """Return the account's row with this id, or None if there is none or it is deleted.

        `keep` keeps the row from being deleted until the transaction ends, so that it can be linked to.
        """
        if not self.is_id(id):
            return None
        row = self.read(account_id, id, self.statement() + (key_share() if keep else ""))
        return None if row is None else self.columns.instance(row)

    def find_annotated(self, account_id: str, id: str, build_other: Build) -> tuple[Any, Row] | None:
        """Return the row like `find`, and the values of another statement's only row, read by one query.

        `build_other` returns that statement and its parameters for the account and the id.
        """
        if not self.is_id(id):
            return None
        other, parameters = build_other(account_id, id)
        row = self.read(account_id, id, self.statement(", other.*", f", ({other}) other"), parameters)
        if row is None:
            return None
        width = len(self.columns.names)
        return self.columns.instance(row[:width]), row[width:]

    def is_id(self, text: str) -> bool:
        return ids.decode(ids.id_prefix(self.model), text) is not None

    def statement(self, columns: str = "", tables: str = "") -> str:
        return (
            f"SELECT {self.columns.sql}{columns} FROM {self.model._meta.db_table} owned{tables} "  # noqa: S608
            "WHERE owned.id = %s AND owned.account_id = %s AND owned.deleted_at IS NULL"
        )

    def read(self, account_id: str, id: str, statement: str, parameters: Row = ()) -> Row | None:
        pk: Any = self.model._meta.pk
        owner: Any = self.model._meta.get_field("account").target_field  # type: ignore[union-attr]
        key = pk.get_db_prep_value(id, connection), owner.get_db_prep_value(account_id, connection)
        with prepared_cursor() as cursor:
            cursor.execute(statement, [*parameters, *key])
            row: Row | None = cursor.fetchone()
        return row

    def keep(self, account_id: str, ids: Collection[str]) -> set[str]:
        """Return which of these rows the account has, and keep them from being deleted until the transaction ends."""
        rows = self.of(account_id).filter(pk__in=ids).only("pk")
        sql, parameters = rows.query.sql_with_params()
        return {row.pk for row in self.raw(sql + key_share(), parameters)}  # select_for_update has no KEY SHARE

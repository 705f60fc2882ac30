"""Manager for account data that is deleted softly, by `deleted_at`."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from django.db import models

from kit.storage.loading import Columns, key_share, prepare, prepared_cursor
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
        row = self.read(account_id, id, end=key_share() if keep else "")
        return None if row is None else self.columns.instance(row)

    def find_annotated(self, account_id: str, id: str, build_other: Build) -> tuple[Any, Row] | None:
        """Return the row like `find`, and the values of another statement's only row, read by one query.

        `build_other` returns that statement and its parameters for the account and the id.
        """
        row = self.read(account_id, id, build_other)
        if row is None:
            return None
        width = len(self.columns.names)
        return self.columns.instance(row[:width]), row[width:]

    def read(self, account_id: str, id: str, build_other: Build | None = None, end: str = "") -> Row | None:
        if ids.decode(ids.id_prefix(self.model), id) is None:
            return None
        columns = self.columns.sql
        tables = f"{self.model._meta.db_table} owned"
        parameters = list[Any]()
        if build_other is not None:
            other, values = build_other(account_id, id)
            columns = f"{columns}, other.*"
            tables = f"{tables}, ({other}) other"
            parameters.extend(values)
        parameters += [prepare(self.model, "id", id), prepare(self.model, "account_id", account_id)]
        where = "owned.id = %s AND owned.account_id = %s AND owned.deleted_at IS NULL"
        with prepared_cursor() as cursor:
            cursor.execute(f"SELECT {columns} FROM {tables} WHERE {where}{end}", parameters)  # noqa: S608
            row: Row | None = cursor.fetchone()
        return row

    def keep(self, account_id: str, ids: Collection[str]) -> set[str]:
        """Return which of these rows the account has, and keep them from being deleted until the transaction ends."""
        rows = self.of(account_id).filter(pk__in=ids).only("pk")
        sql, parameters = rows.query.sql_with_params()
        return {row.pk for row in self.raw(sql + key_share(), parameters)}  # select_for_update has no KEY SHARE

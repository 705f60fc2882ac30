"""Sorting text by code points, independent of database and collation.

SQLite does so by default; PostgreSQL needs the collation "C", also in the index.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, F, Func
from django.db.models.sql.compiler import SQLCompiler

LAST_CODE_POINT = "\U0010ffff"


class ByCodePoint(Func):
    """A text column for ORDER BY, comparisons and indexes."""

    template = "%(expressions)s"
    output_field = CharField()
    arity = 1

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[object] | tuple[object, ...]]:
        return super().as_sql(compiler, connection, template='(%(expressions)s COLLATE "C")')


def by_code_point(field_name: str) -> ByCodePoint:
    return ByCodePoint(F(field_name))


def after_prefix(prefix: str) -> str | None:
    """Return the least text greater than any that begins with `prefix`, or None if there is none."""
    stem = prefix.rstrip(LAST_CODE_POINT)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    # skips the surrogates, which are not valid text
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)

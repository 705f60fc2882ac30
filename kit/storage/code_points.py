"""Text in the order of its code points: the same on every database, whatever its collation.

SQLite compares so by itself; PostgreSQL needs the collation "C", which an index has to name too.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, F, Func
from django.db.models.sql.compiler import SQLCompiler

LAST = "\U0010ffff"


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
    """The least text that is greater than all that begin with `prefix`; None if there is none."""
    stem = prefix.rstrip(LAST)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)  # past the surrogates, which no text has

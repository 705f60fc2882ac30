"""Database lookups and functions for both PostgreSQL (indexed) and SQLite."""

import json
import re

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, Func, IntegerField, JSONField, Lookup
from django.db.models.sql.compiler import SQLCompiler

Sql = tuple[str, list[str | int] | tuple[str | int, ...]]  # SQL and its parameters


@JSONField.register_lookup
class Has(Lookup):
    """`tags__has="x"`: the JSON array contains the string."""

    lookup_name = "has"
    prepare_rhs = False

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> %s::jsonb", [*params, json.dumps([self.rhs])]

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:
        column, params = self.process_lhs(compiler, connection)
        return f"EXISTS (SELECT 1 FROM json_each({column}) WHERE value = %s)", [*params, self.rhs]  # noqa: S608


class BeginsWith(Lookup):
    """The condition that a text begins with one of several others, case-sensitive."""

    lookup_name = "begins_with"
    prepare_rhs = False

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[object]]:
        """Evaluate the text only once: of a recorded fact, that takes most of the time of a search."""
        text, params = self.process_lhs(compiler, connection)
        return f"{text} ^@ ANY(%s)", [*params, list(self.rhs)]

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[object]]:
        text, params = self.process_lhs(compiler, connection)
        each = " OR ".join(f"substr({text}, 1, {len(prefix):d}) = %s" for prefix in self.rhs)
        return f"({each})", [parameter for prefix in self.rhs for parameter in (*params, prefix)]


@CharField.register_lookup
class HasWords(Lookup):
    """`title__has_words="annual rep"`: each of the words is a prefix of a word in the text.

    Uses full-text search without a language on PostgreSQL, which can use an index; regular expressions on SQLite.
    """

    lookup_name = "has_words"
    prepare_rhs = False

    @property
    def words(self) -> list[str]:
        return [word for word in str(self.rhs).split() if any(map(str.isalnum, word))]

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:
        column, params = self.process_lhs(compiler, connection)
        if not self.words:
            return "FALSE", []
        quoted = (word.replace("\\", "\\\\").replace("'", "''") for word in self.words)
        query = " & ".join(f"'{word}':*" for word in quoted)
        return f"to_tsvector('simple'::regconfig, {column}) @@ to_tsquery('simple', %s)", [*params, query]

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:
        column, params = self.process_lhs(compiler, connection)
        if not self.words:
            return "0", []
        patterns = [rf"(?i)(^|\W){re.escape(word)}" for word in self.words]
        return " AND ".join(f"{column} REGEXP %s" for _ in patterns), [*params * len(patterns), *patterns]


class Length(Func):
    """The length of a JSON array."""

    function = "json_array_length"
    output_field = IntegerField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:
        return self.as_sql(compiler, connection, function="jsonb_array_length")

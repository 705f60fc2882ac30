"""`tags__has="x"`: the JSON array holds the string, on PostgreSQL (by its GIN index) and on SQLite alike."""

import json
from typing import Any

from django.db.models import JSONField, Lookup


@JSONField.register_lookup
class Has(Lookup):
    lookup_name = "has"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (value,)

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> %s::jsonb", [*params, json.dumps([self.rhs])]

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"EXISTS (SELECT 1 FROM json_each({column}) WHERE value = %s)", [*params, self.rhs]  # noqa: S608

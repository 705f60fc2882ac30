"""Query plans of the list of items."""

import re
from typing import Any

from django.db import connection

from tests.client import ApiClient

SETTINGS = re.compile("^(SET LOCAL [^;]*; )*|(; SET LOCAL [^;]*)*$")


def plans_of_page(api: ApiClient, path: str, statement: str = "ORDER BY") -> list[str]:
    """Return the database's query plans for the page's statements that contain a text."""
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if statement in sql and 'FROM "licensing_content"' in sql:
            how = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
            execute(f"{how} {SETTINGS.sub('', sql)}", params, many, context)
            plans.append("\n".join(str(row) for row in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        assert api.get(path).status == 200
    return plans

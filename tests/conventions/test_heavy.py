import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, close_old_connections, connection
from django.urls import reverse

from config.asgi import action_of, is_heavy, view_at
from kit import statement_timeout
from kit.http.error_replies import as_api_error
from tests.conventions.endpoints import ENDPOINTS, LISTS, known_to_the_resolver

REPORTS = ("/v1/analytics/", "/v1/statements")  # sums over as much as the client asks for
# What else takes long: a policy with many rules, many recorded decisions, another server.
SLOW_POSTS = {"POST /v1/policies/lint", "POST /v1/policies/{}/simulate", "POST /v1/sites/{}/verify"}


def reports():
    """Return the endpoints that read reports."""
    return {f"{method} {path}" for method, path in known_to_the_resolver() if path.startswith(REPORTS)}


def files():
    """Return the lists that can be downloaded as a file."""
    found = set()
    for path in {re.sub(r"{[^}]+}", "{}", path) for path in LISTS}:
        view = view_at(path)
        if action_of(view, "GET") in view.cls.exportable:
            found.add(f"GET {path}")
    return found


def heavy_ones(query=b"", accept=""):
    found = {
        (method, path) for method, path in known_to_the_resolver() if is_heavy(view_at(path), method, query, accept)
    }
    return {f"{method} {path}" for method, path in found}


def test_reports_files_and_exact_counts_are_heavy():
    assert len(known_to_the_resolver()) == len(ENDPOINTS)
    assert heavy_ones() == reports() | SLOW_POSTS
    for query, accept in ((b"format=csv", ""), (b"format=jsonl&allowed=true", ""), (b"", "text/csv")):
        assert len(files()) >= 10
        assert heavy_ones(query, accept) == reports() | SLOW_POSTS | files()
    lists = {f"GET {re.sub(r'{[^}]+}', '{}', path)}" for path in LISTS}
    assert heavy_ones(b"limit=1&count=exact") == reports() | SLOW_POSTS | lists
    assert heavy_ones(b"count=none") == reports() | SLOW_POSTS
    for query in (b"format=json", b"format=nonsense", b"format=%FF"):
        assert heavy_ones(query) == reports() | SLOW_POSTS
    assert is_heavy(view_at("/v1/analytics/usage"), "HEAD", b"", "")
    for path in ("/v1/nothing", "/", "/admin/login/", "/nowhere", "/livez"):
        assert not is_heavy(view_at(path), "GET", b"", "")
    for name, arguments in (
        ("licensing_content_import_items", []),
        ("licensing_content_import", ["token"]),
        ("licensing_content_bad_rows", ["token"]),
        ("licensing_content_export_items", []),
        ("licensing_policy_simulator", ["pol_x"]),
    ):
        assert is_heavy(view_at(reverse(f"admin:{name}", args=arguments)), "POST", b"", "")


# --- Statements ------------------------------------------------------------------------------------------------------

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(600)",
}


def run(bound, statement):
    """Run in a separate thread, like config.asgi; return the error and the reply to the client."""

    def work():
        statement_timeout.bound.set(bound)
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                cursor.fetchall()
        except OperationalError as error:
            return statement_timeout.was_ended(error), as_api_error(error)
        finally:
            close_old_connections()
            connection.close()
        return False, None

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@pytest.mark.slow
def test_a_statement_that_runs_too_long_ends_with_advice(db):
    ended, error = run(statement_timeout.Bound(1), ENDLESS[connection.vendor])
    assert (ended, error.status_code, error.code) == (True, 503, "service_unavailable")
    assert "1 seconds" in error.message
    assert "Narrow the filters" in error.message
    assert error.retry_after


def test_bounds_apply_to_single_requests_and_not_to_commands(db):
    show = {"sqlite": "SELECT 1", "postgresql": "SELECT 1 WHERE current_setting('statement_timeout') = '0'"}
    run(statement_timeout.Bound(1), "SELECT 1")
    assert run(None, show[connection.vendor]) == (False, None)
    if connection.vendor == "postgresql":
        assert statement_timeout.bound.get() is None


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL goes on until its bound")
def test_a_statement_of_a_disconnected_client_ends_at_once(db, for_nobody):
    ended, error = run(statement_timeout.bound.get(), ENDLESS["sqlite"])
    assert (ended, error.status_code) == (True, 499)

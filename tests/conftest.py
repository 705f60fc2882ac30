"""Fixtures of the whole suite. `api` is a client with all permissions, on an account without tight limits."""

import gc
import os
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from threading import Event

import pytest
from django.conf import settings
from django.db import connection
from django.template import Context, Template
from django.test.signals import template_rendered
from django.utils.safestring import SafeString
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.limits.limiter import limiter
from accounts.models import Account
from kit import statements
from licensing.access.tokens.signing import forget_signer
from run import SLOW
from tests import append_only, factories, served, site, standing, templates, ways
from tests.client import ApiClient
from tests.ways import DJANGO, Connect

# Tests without a database, or only about documents and connections, have the same result on both databases.
ON_SQLITE_ALONE = {
    "admin": ["test_no_store", "test_page_sizes"],
    "analytics": ["test_windows"],
    "clients": [
        *("test_generated", "test_generators", "test_middleware", "test_responses", "test_signed_decisions"),
        *("test_typescript", "test_wordpress"),  # test_python calls the service on both
    ],
    "commands": ["test_checks", "test_host_settings", "test_port", "test_private_files"],
    "conventions": [
        *("test_amounts", "test_header_reads", "test_imports", "test_money", "test_openapi", "test_type_hints"),
        *("test_sizes", "test_typeids"),
    ],
    "documentation": [
        *("test_changelog", "test_conditional_changes", "test_edge", "test_examples", "test_guarantees"),
        *("test_guides", "test_integration", "test_proofs", "test_readme", "test_site"),
    ],
    "decisions": [
        *("test_all_rule_faults", "test_attributes", "test_charges_of_decisions", "test_compiled"),
        *("test_dependences", "test_evaluation", "test_guide_example", "test_lint", "test_one_more_fact"),
        *("test_rate_limit_windows", "test_schedule", "test_standing"),
    ],
    "edge": [
        *("test_directories", "test_directories_under_load", "test_drop_ins", "test_patterns", "test_readings"),
        "test_shipped_crawlers",
    ],
    "endpoints": ["test_access_faults"],
    "gateway": [
        *("test_bridge", "test_broken_replies", "test_errors_around_django", "test_framing", "test_heads"),
        *("test_light_tasks", "test_limit_states", "test_lost_connections", "test_many_connections"),
        *("test_microbatch", "test_process_counters"),
        *("test_protocol", "test_refusal_texts", "test_request_lines", "test_slow_readers", "test_threads"),
        *("test_trailers", "test_waiting"),
    ],
    "observability": ["test_reading_metrics"],
    "openapi": ["test_linters"],
    "outbound": ["test_guard", "test_reply_bounds"],
}
collect_ignore = (
    [f"{folder}/{name}.py" for folder, names in ON_SQLITE_ALONE.items() for name in names]
    if connection.vendor == "postgresql"
    else []
)
application, connect, for_the_module = ways.application, ways.connect, standing.for_the_module  # fixtures
running, service = served.running, served.service
docs_site = site.docs_site


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name cases of bytes by their argument.

    Archives contain the second they were packed in, but parallel workers must agree on test names.
    """
    return argname if isinstance(val, bytes) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--most-cases", type=int, metavar="N", help="run at most N cases of each test")


def some_cases(items: list[pytest.Item], most: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return at most that many cases of each test, evenly chosen with the first and the last, and those left out."""
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = {
        cases[number * (len(cases) - 1) // max(min(most, len(cases)) - 1, 1)]
        for cases in by_test.values()
        for number in range(min(most, len(cases)))
    }
    return [item for item in items if item in chosen], [item for item in items if item not in chosen]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if most := config.getoption("--most-cases"):
        items[:], left_out = some_cases(items, most)
        config.hook.pytest_deselected(items=left_out)
    deal(items)


def deal(items: list[pytest.Item]) -> None:
    """Start each worker with slow folders (servers, browsers, foreign tools), different ones for each.

    Their waits leave the processor to other workers, and only short tests are left for the end.
    """
    by_folder: dict[str, list[pytest.Item]] = {name: [] for name in (*SLOW, "")}
    for item in items:
        folder = item.nodeid.removeprefix("tests/").partition("/")[0]
        by_folder[folder if folder in SLOW else ""].append(item)
    short = iter(by_folder.pop(""))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    dealt: list[pytest.Item] = []
    for number in range(workers):
        dealt += [item for name in SLOW[number::workers] for item in by_folder[name]]
        # `--dist worksteal` first gives each worker an equal share of the list.
        dealt += islice(short, max(len(items) * (number + 1) // workers - len(dealt), 0))
    items[:] = [*dealt, *short]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, which takes a fifth of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude collected tests and modules from garbage collection, as servers do."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 10)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Copy the test database from a migrated template."""
    name = connection.settings_dict["TEST"]["NAME"] or f"test_{connection.settings_dict['NAME']}"
    if connection.vendor == "sqlite":
        templates.copy_of_sqlite(Path(name))
    else:
        templates.copy_on_postgresql(name)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Use the copied database instead of creating one."""
    return True


@pytest.fixture(autouse=True, scope="session")
def _own_redis_database() -> None:
    """Give each parallel worker its own Redis database."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if settings.REDIS_URL:
        settings.REDIS_URL = f"{settings.REDIS_URL.rstrip('/').removesuffix('/0')}/{worker}"


@pytest.fixture(autouse=True, scope="session")
def _what_is_append_only_can_be_emptied() -> None:
    """Let `transaction=True` tests flush all tables despite the append-only triggers."""
    flush = connection.ops.execute_sql_flush

    def unlocked_flush(statements: list[str]) -> None:
        unlock, lock = append_only.unlocking()
        flush([*unlock, *statements, *lock])

    connection.ops.execute_sql_flush = unlocked_flush  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _passwords_are_hashed_quickly() -> None:
    """The production hash takes a third of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def _whole_pages_are_told_of(django_test_environment: None) -> None:
    """Send `template_rendered` only for whole pages.

    Django copies the context for each of the 200 or more included templates of an admin page; no test uses those.
    """

    def render(self: Template, context: Context) -> SafeString:
        if context.template is self:
            template_rendered.send(sender=self, template=self, context=context)
        return self.nodelist.render(context)

    Template._render = render  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _files_are_looked_for_once() -> None:
    """Share WhiteNoise's file list: each test client would otherwise scan all static files."""
    look, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def add_files(self: WhiteNoiseMiddleware) -> None:
        if not found:
            look(self)
            found.update(self.files)
        self.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = add_files


@pytest.fixture(autouse=True)
def _limits_begin_at_zero() -> None:
    """Reset rate limits before each test, in Redis too."""
    limiter.forget_all()
    forget_signer()


@pytest.fixture
def account(db: None) -> Account:
    return factories.account()


@pytest.fixture
def other_account(db: None) -> Account:
    return factories.account(name="Other")


@pytest.fixture
def way() -> str:
    return DJANGO


@pytest.fixture
def api(account: Account, connect: Connect) -> ApiClient:
    return connect(factories.key_text(account))


@pytest.fixture
def other_api(other_account: Account, connect: Connect) -> ApiClient:
    return connect(factories.key_text(other_account))


@pytest.fixture
def anonymous(db: None, connect: Connect) -> ApiClient:
    return connect(None)


@pytest.fixture
def for_nobody() -> Iterator[None]:
    """Simulate a client that has disconnected."""
    gone = Event()
    gone.set()
    token = statements.bound.set(statements.Bound(30, gone))
    yield
    statements.bound.reset(token)

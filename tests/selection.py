"""Which tests a run has: its part, its databases, and the gate's sample.

`run.py test` is the gate. It runs each test of BOTH_DATABASES twice and the others on one of the two databases, which
alternates from sample to sample. `run.py test --all` runs everything on both.
"""

from pathlib import Path
from zlib import crc32

import pytest
from django.db import connection

from launcher.testing import SERVERS

TESTS = Path(__file__).parent

# Tests without a database, or only about documents and connections, have the same result on both databases.
ON_SQLITE_ALONE = {
    "admin": ["test_no_store", "test_page_sizes"],
    "analytics": ["test_windows"],
    "clients": [
        "test_generated",
        "test_generators",
        "test_middleware",
        "test_responses",
        "test_signed_decisions",
        "test_typescript",
        "test_wordpress",
    ],  # test_python calls the service on both
    "commands": ["test_checks", "test_host_settings", "test_port", "test_private_files"],
    "conventions": [
        "test_amounts",
        "test_header_reads",
        "test_imports",
        "test_money",
        "test_openapi",
        "test_sizes",
        "test_type_hints",
        "test_typeids",
    ],
    "decisions": [
        "test_all_rule_faults",
        "test_attributes",
        "test_charges_of_decisions",
        "test_compiled",
        "test_dependences",
        "test_evaluation",
        "test_guide_example",
        "test_lint",
        "test_one_more_fact",
        "test_rate_limit_windows",
        "test_schedule",
        "test_standing",
    ],
    "documentation": [
        "test_changelog",
        "test_conditional_changes",
        "test_edge",
        "test_examples",
        "test_guarantees",
        "test_guides",
        "test_integration",
        "test_proofs",
        "test_readme",
        "test_site",
    ],
    "edge": [
        "test_directories",
        "test_directories_under_load",
        "test_drop_ins",
        "test_patterns",
        "test_readings",
        "test_shipped_crawlers",
    ],
    "endpoints": ["test_access_faults"],
    "gateway": [
        "test_bridge",
        "test_broken_replies",
        "test_errors_around_django",
        "test_framing",
        "test_heads",
        "test_light_tasks",
        "test_limit_states",
        "test_lost_connections",
        "test_many_connections",
        "test_microbatch",
        "test_process_counters",
        "test_protocol",
        "test_refusal_texts",
        "test_request_lines",
        "test_slow_readers",
        "test_threads",
        "test_trailers",
        "test_waiting",
    ],
    "observability": ["test_reading_metrics"],
    "openapi": ["test_linters"],
    "outbound": ["test_guard", "test_reply_bounds"],
}

# In the gate, these run on both databases: the product asks there which one it is, or sorts and searches by it.
BOTH_DATABASES = {
    "admin": ["test_lists", "test_long_exports", "test_suggestions"],
    "analytics": [],
    "commands": [],
    "conventions": [
        "test_audit_filters",
        "test_client_filters",
        "test_content_filters",
        "test_counts",
        "test_exports",
        "test_failures",
        "test_filters",
        "test_idempotency",
        "test_isolation",
        "test_limited_statements",
        "test_list_indexes",
        "test_lists",
        "test_sorting",
    ],
    "gateway": [],
    "wallets": [],
    "webhooks": [],
}

# Not in the gate: long, or about programs and machines that few changes concern.
ONLY_IN_ALL = {
    "clients": ["test_generated", "test_generators", "test_next", "test_wordpress"],
    "faults": [
        "test_archive",
        "test_changed_passwords",
        "test_clock",
        "test_failover",
        "test_full_disk",
        "test_high_availability",
        "test_list_indexes",
        "test_long_exports",
        "test_long_lists",
        "test_moving_accounts",
        "test_online_migrations",
        "test_poolers",
        "test_replica",
        "test_restore",
        "test_rolling_upgrade",
        "test_valkey_cluster",
        "test_valkey_sentinel",
    ],
}

# The gate runs every case of these: a rule of security that holds for all endpoints but one does not hold.
WHOLE = {
    "admin": ["test_intruder", "test_rights", "test_roles", "test_scope"],
    "conventions": [
        "test_account_tables",
        "test_addresses",
        "test_authentication",
        "test_isolation",
        "test_permissions",
        "test_secrets",
    ],
}
MOST_CASES = 4  # of any other test, in a sample of the gate


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=["in-process", "servers"], help="run only tests with, or without, servers")
    parser.addoption("--sample", type=int, metavar="N", help="run this sample of the tests, as the gate does")
    parser.addoption("--most-cases", type=int, metavar="N", help="run at most N cases of each test")


def is_listed(path: Path, table: dict[str, list[str]]) -> bool:
    """Return whether the table has this file; an empty list has all files of its folder."""
    folder = path.relative_to(TESTS).parts[0]
    return folder in table and (not table[folder] or path.stem in table[folder])


def is_left_out(path: Path, part: str | None, sample: int | None, vendor: str) -> bool:
    """Return whether a file of tests does not belong to this run."""
    if is_listed(path, ON_SQLITE_ALONE) and vendor == "postgresql":
        return True
    has_servers = path.relative_to(TESTS).parts[0] in SERVERS
    if part and has_servers != (part == "servers"):
        return True
    if sample is None:
        return False
    if is_listed(path, ONLY_IN_ALL):
        return True
    if has_servers or is_listed(path, BOTH_DATABASES) or is_listed(path, ON_SQLITE_ALONE):
        return False
    databases = ("sqlite", "postgresql")
    return databases[(crc32(path.relative_to(TESTS).as_posix().encode()) + sample) % 2] != vendor


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not collection_path.name.startswith("test_") or TESTS not in collection_path.parents:
        return None
    options = config.option
    return is_left_out(collection_path, options.part, options.sample, connection.vendor) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    options = config.option
    most = options.most_cases or (MOST_CASES if options.sample is not None else None)
    if not most:
        return
    items[:], left_out = some_cases(items, most, options.sample)
    config.hook.pytest_deselected(items=left_out)


def some_cases(
    items: list[pytest.Item], most: int, sample: int | None = None
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return at most that many cases of each test, evenly spread, and those left out.

    A sample begins at a case of its own; without one, the first and the last case are among them.
    """
    cases_by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases_by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen: set[pytest.Item] = set()
    for test, cases in cases_by_test.items():
        if len(cases) <= most or (sample is not None and is_listed(TESTS.parent / test.partition("::")[0], WHOLE)):
            chosen.update(cases)
        elif sample is None:
            chosen.update(cases[number * (len(cases) - 1) // max(most - 1, 1)] for number in range(most))
        else:
            chosen.update(cases[(sample + number * len(cases) // most) % len(cases)] for number in range(most))
    return [item for item in items if item in chosen], [item for item in items if item not in chosen]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the command that repeats each failed test."""
    failed = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    tests = dict.fromkeys(report.nodeid for report in failed)
    if tests:
        terminalreporter.section("To repeat")
    leg = "postgresql" if connection.vendor == "postgresql" else "sqlite"
    for test in tests:
        terminalreporter.write_line(f"python3 run.py test --leg {leg} '{test}'")

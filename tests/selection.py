"""Which tests a run has: its part, its databases, and the gate's sample.

`run.py test` is the gate. It runs the tests of BOTH_DATABASES twice and others on one of the two databases, which
alternates from sample to sample. `run.py test --all` runs everything on both.

A sample is a number that the commit gives. Its lowest bit chooses databases, the next one EVERY_SECOND_SAMPLE, and the
rest the parts of cases and files. So each part meets each database.

A table lists files by folder; an empty list stands for all of its files.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest
from django.db import connection

from launcher.testing import SERVERS

TESTS = Path(__file__).parent
DATABASES = ("sqlite", "postgresql")

# Tests without a database, or only about documents and connections, have the same result on both databases.
ON_SQLITE_ALONE = {
    "admin": ["test_no_store", "test_page_sizes"],
    "analytics": ["test_windows"],
    "clients": [
        "test_generated",
        "test_generators",
        "test_license_tokens",
        "test_middleware",
        "test_signed_decisions",
        "test_types",
        "test_typescript",
        "test_wordpress",
        "test_wordpress_moves",
        "test_wordpress_outages",
        "test_wordpress_rest",
    ],  # test_python calls the service on both
    "commands": ["test_checks", "test_private_files", "test_settings"],
    "conventions": [
        "test_density",
        "test_header_reads",
        "test_imports",
        "test_money",
        "test_openapi",
        "test_personal_members",
        "test_prose_names",
        "test_sizes",
        "test_typeids",
    ],
    "decisions": [
        "test_all_rule_faults",
        "test_attributes",
        "test_charges_of_decisions",
        "test_compiled",
        "test_dependences",
        "test_effective_licenses",
        "test_evaluation",
        "test_guide_example",
        "test_lint",
        "test_rate_limit_windows",
        "test_schedule",
    ],
    "documentation": [
        "test_conditional_changes",
        "test_edge",
        "test_examples",
        "test_guides",
        "test_integration",
        "test_proofs",
        "test_readme",
        "test_reference",
        "test_site",
    ],
    "browser": [],
    "edge": [
        "test_directories",
        "test_directories_under_load",
        "test_drop_ins",
        "test_patterns",
        "test_readings",
        "test_robots_txt",
        "test_shipped_crawlers",
        "test_terms_agree_with_answers",
    ],
    "endpoints": ["test_access_faults"],
    "faults": [
        "test_bodies",
        "test_header_limits",
        "test_hostile_clients",
        "test_hostile_sites",
        "test_http",
        "test_licence_sdk",
    ],
    "faults/proxies": [
        "test_caching",
        "test_decisions",
        "test_generated_files",
        "test_hosts",
        "test_questions",
        "test_refusal_pages",
        "test_shipped_headers",
        "test_spellings",
        "test_unavailable",
        "test_visitors",
    ],
    "gateway": [
        "test_bridge",
        "test_framing",
        "test_limit_states",
        "test_lost_connections",
        "test_many_connections",
        "test_microbatch",
        "test_protocol",
        "test_request_lines",
        "test_threads",
        "test_turns_to_write",
        "test_waiting",
    ],
    "observability": ["test_reading_metrics"],
    "openapi": [],
    "outbound": ["test_guard", "test_reply_bounds"],
    "release": [],
}

# Tests of several processes, of PostgreSQL or of Valkey.
ON_POSTGRESQL_ALONE = {
    "faults": [
        "test_changed_passwords",
        "test_failover",
        "test_high_availability",
        "test_metrics",
        "test_outages",
        "test_poolers",
        "test_processes",
        "test_replica",
        "test_restore",
        "test_shared_jobs",
        "test_unfit_redis",
        "test_valkey_cluster",
        "test_valkey_sentinel",
        "test_workers",
    ],
    "faults/proxies": ["test_outages"],
    "flows": [],
    "world": [],
}

# In the gate, these run on both databases: the product asks there which one it is, or sorts and searches by it.
BOTH_DATABASES = {
    "admin": ["test_lists", "test_long_exports", "test_suggestions"],
    "analytics": [
        "test_adjusting_during_erasures",
        "test_counts_of_decisions",
        "test_figures_of_one",
        "test_ledger",
        "test_lock_order",
        "test_months_of_statements",
        "test_replica",
        "test_reports_in_zones",
        "test_revenue_at_every_moment",
        "test_revenue_by_force",
        "test_revenue_of_long_times",
        "test_roll_up",
        "test_statements",
        "test_usage_figures",
        "test_views_of_statements",
    ],
    "commands": [
        "test_check_books",
        "test_fit_database",
        "test_migrating_online",
        "test_partitions",
        "test_rebuild_usage",
    ],
    "conventions": [
        "test_content_filters",
        "test_long_exports",
        "test_failures",
        "test_filters",
        "test_idempotency",
        "test_isolation",
        "test_limited_statements",
        "test_list_indexes",
        "test_lists",
        "test_sorting",
    ],
    "endpoints": ["test_erased_copies", "test_requester_erasure"],
    "faults": ["test_durability", "test_simultaneous_checks", "test_simultaneous_money", "test_simultaneous_spending"],
    "gateway": [],
    "wallets": [],
    "webhooks": [],
}

# Not in the gate: long, or about programs and machines that few changes concern.
ONLY_IN_ALL = {
    "analytics": ["test_archive_on_s3"],
    "browser": ["test_wordpress_editor"],
    "clients": [
        "test_generators",
        "test_next",
        "test_wordpress",
        "test_wordpress_moves",
        "test_wordpress_outages",
        "test_wordpress_rest",
    ],
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
        "test_online_migrations",
        "test_poolers",
        "test_replica",
        "test_restore",
        "test_rolling_upgrade",
        "test_valkey_cluster",
        "test_valkey_sentinel",
    ],
    "openapi": ["test_spectral"],
    "release": ["test_archive", "test_image"],
}

# In the gate, each database has half of the cases of each of these tests. Every second sample swaps the halves. They
# are enumerations of endpoints.
SPLIT_BETWEEN_DATABASES = {
    "conventions": [
        "test_content_filters",
        "test_failures",
        "test_filters",
        "test_idempotency",
        "test_lists",
        "test_long_exports",
        "test_sorting",
    ],
}
# In the gate, each sample has one part of the cases of each test, of as many parts as the number says. They are
# enumerations, and prove the same of other proxies, faults, places or endpoints.
PARTS_OF_CASES = {
    "admin/test_invented_addresses": 4,
    "analytics/test_archive": 4,
    "analytics/test_archive_reading": 4,
    "clients/test_middleware": 4,
    "conventions/test_openapi_fuzz": 25,
    "conventions/test_types": 4,
    "endpoints/test_list_windows": 3,
    "faults/proxies": 3,
    "faults/proxies/test_visitors": 4,
    "faults/test_stopping": 2,
}
# The same of the files of a folder, except those of EVERY_SAMPLE.
PARTS_OF_FILES = {"browser": 3}
EVERY_SAMPLE = {"browser": ["test_keys", "test_money_jobs", "test_second_factor", "test_session_end"]}
# Long, and about what few changes concern. Two of four samples leave out the first table, the others the second one.
EVERY_SECOND_SAMPLE: tuple[dict[str, list[str]], dict[str, list[str]]] = (
    {
        "admin": ["test_page_sizes"],
        "clients": ["test_types"],
        "commands": ["test_squashed_migrations"],
        "decisions": ["test_compiled"],
        "documentation": ["test_conditional_changes", "test_guides", "test_integration"],
        "release": ["test_records"],
    },
    {
        "admin": ["test_archived_decisions"],
        "analytics": ["test_archive", "test_archive_reading", "test_archive_report"],
        "clients": ["test_typescript"],
        "documentation": ["test_site"],
        "edge": ["test_drop_ins"],
    },
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", choices=["in-process", *SERVERS], help="run only tests without servers, or some of those with"
    )
    parser.addoption("--sample", type=int, metavar="N", help="run this sample of the tests, as the gate does")
    parser.addoption("--most-cases", type=int, metavar="N", help="run at most N cases of each test")


def is_listed(path: Path, table: dict[str, list[str]]) -> bool:
    """Return whether the table has this file."""
    folder = path.relative_to(TESTS).parent.as_posix()
    return folder in table and (not table[folder] or path.stem in table[folder])


def is_left_out(path: Path, part: str | None, sample: int | None, vendor: str) -> bool:
    """Return whether a file of tests does not belong to this run."""
    alone = is_listed(path, ON_SQLITE_ALONE), is_listed(path, ON_POSTGRESQL_ALONE)
    if any(alone) and alone[DATABASES.index(vendor)] is False:
        return True
    if part and part != part_of(path):
        return True
    if sample is None:
        return False
    if is_listed(path, ONLY_IN_ALL):
        return True
    if (parts := PARTS_OF_FILES.get(path.parent.name)) and not is_listed(path, EVERY_SAMPLE):
        return sorted(path.parent.glob("test_*.py")).index(path) % parts != sample // 4 % parts
    if is_listed(path, EVERY_SECOND_SAMPLE[sample // 2 % 2]):
        return True
    if any(alone) or is_listed(path, BOTH_DATABASES):
        return False
    return DATABASES[(crc32(path.relative_to(TESTS).as_posix().encode()) + sample) % 2] != vendor


def part_of(path: Path) -> str:
    folder = path.relative_to(TESTS).parts[0]
    return next((part for part, folders in SERVERS.items() if folder in folders), "in-process")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    options = config.option
    if TESTS in collection_path.parents and collection_path.is_dir():  # whose conftest.py may import much
        return (bool(options.part) and options.part != part_of(collection_path)) or None
    if not collection_path.name.startswith("test_") or TESTS not in collection_path.parents:
        return None
    return is_left_out(collection_path, options.part, options.sample, connection.vendor) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    options = config.option
    if options.most_cases:
        chosen = {case for cases in by_test(items) for case in some_cases(cases, options.most_cases)}
    elif options.sample is not None:
        vendor = connection.vendor
        chosen = {case for cases in by_test(items) for case in sampled_cases(cases, options.sample, vendor)}
    else:
        return
    left_out = [item for item in items if item not in chosen]
    items[:] = [item for item in items if item in chosen]
    config.hook.pytest_deselected(items=left_out)


Case = TypeVar("Case", bound=pytest.Item)


def by_test(items: list[Case]) -> Iterable[list[Case]]:
    """Return the cases of each test."""
    cases_by_test: dict[str, list[Case]] = {}
    for item in items:
        cases_by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases_by_test.values()


def some_cases(cases: list[Case], most: int) -> list[Case]:
    """Return at most that many cases, evenly spread, with the first and the last."""
    if len(cases) <= most:
        return cases
    return [cases[number * (len(cases) - 1) // max(most - 1, 1)] for number in range(most)]


def sampled_cases(cases: list[Case], sample: int, vendor: str) -> list[Case]:
    """Return the cases of a test that a sample of the gate has. Each test has one at least."""
    path = cases[0].path
    if is_listed(path, SPLIT_BETWEEN_DATABASES):
        parts, number = 2, sample + DATABASES.index(vendor)
    else:
        file = path.relative_to(TESTS).with_suffix("")
        parts = PARTS_OF_CASES.get(file.as_posix()) or PARTS_OF_CASES.get(file.parent.as_posix()) or 1
        number = sample // 4
    parts = min(parts, len(cases))
    return cases[number % parts :: parts]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the command that repeats each failed test."""
    failed = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    tests = dict.fromkeys(report.nodeid for report in failed)
    if tests:
        terminalreporter.section("To repeat")
    for test in tests:
        terminalreporter.write_line(f"python3 run.py test --leg {connection.vendor} '{test}'")

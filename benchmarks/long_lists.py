"""Long lists: pages by each filter and pair of filters, and the rate of exports.

    python -m tests.services --no-fsync python benchmarks/long_lists.py [--rows N] [--list PATH ...] [--pairs N]

Fills the lists of one account (benchmarks/long_lists_data.py) and takes their filters from the API's own tables. Times
the first page and one in the middle of each filter and each pair of filters by Django's test client, then exports.
By default PostgreSQL has only the statistics that autovacuum has gathered, as after a night's import.
"""

import argparse
import cProfile
import gc
import itertools
import os
import pstats
import random
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from unittest import mock
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
directory = TemporaryDirectory()
os.environ["DATA_DIR"] = directory.name

import django  # noqa: E402 - the settings read the environment

django.setup()

from django.db import connection  # noqa: E402
from django.db.models import Count, F, Func, Model, TextField  # noqa: E402
from django.db.models.fields.json import KT  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.models import Account  # noqa: E402
from benchmarks.long_lists_data import DAYS, ROWS_OF, fill, shared_values  # noqa: E402
from kit.rest.filters import Operand, boolean, integer, timestamp  # noqa: E402
from kit.rest.heavy import view_at  # noqa: E402
from kit.storage.summaries import SUMMARIES, first_unsummarised, summarize_new_blocks  # noqa: E402
from kit.values import ids  # noqa: E402
from tests import factories  # noqa: E402
from tests.client import ApiClient  # noqa: E402
from tests.conventions.endpoints import ENDPOINTS  # noqa: E402

Query = dict[str, object]
REPEATS = 3
# The values of operands that compare more than one column.
SPECIAL = {
    "source": F("source"),
    "tags": Func(F("tags"), function="jsonb_array_elements_text", output_field=TextField()),
    **{name: KT(f"facts__{name}") for name in ("url", "siteId", "identifiedBy", "referrer")},
}


def cases(name: str, operand: Operand, model: type[Model], account: Account) -> Iterator[tuple[str, Query]]:
    """Yield filters by an operand, with labels: a frequent, a rare and an absent value, or the middle of a range."""
    if operand.kind is timestamp:
        now = timezone.now()
        begin, end = (f"{now - timedelta(days=days):%Y-%m-%d}" for days in (DAYS // 2, DAYS // 2 - 30))
        yield name, {f"{name}[gte]": begin, f"{name}[lt]": end}
        return
    if operand.kind is boolean:
        yield from ((f"{name} {value}", {name: value}) for value in ("true", "false"))
        return
    found = values_of(name, operand, model, account)
    if operand.kind is integer:
        yield name, {f"{name}[gte]": found[0], f"{name}[lt]": int(found[0]) + 100}
    else:
        distinct = {"frequent": found[0], "rare": found[-1], "absent": absent_value(operand, found)}
        yield from ((f"{name} {label}", {name: value}) for label, value in distinct.items() if value is not None)
    for operator in {"prefix", "startsWith"} & set(operand.operators):
        yield f"{name} prefix", {f"{name}[{operator}]": found[0][:-1]}
        yield f"{name} rare prefix", {f"{name}[{operator}]": found[-1][:-1]}
        yield f"{name} absent prefix", {f"{name}[{operator}]": f"{found[-1]} absent"}
    if "ne" in operand.operators:
        yield f"{name} ne", {f"{name}[ne]": found[0]}
    if "exists" in operand.operators:
        yield from ((f"{name} exists {value}", {f"{name}[exists]": value}) for value in ("true", "false"))


def values_of(name: str, operand: Operand, model: type[Model], account: Account) -> list[str]:
    """Return an operand's values as the API spells them, the most frequent first."""
    value = SPECIAL.get(name, F(operand.field_name or name))
    rows = model._default_manager.filter(account=account).values_list(value).annotate(n=Count("*"))
    return [str(value) for value, _ in rows.order_by("-n") if value is not None]


def prefix_of(operand: Operand) -> str | None:
    pattern = str(operand.kind.schema.get("pattern", ""))
    return pattern[1:].partition("_")[0] if "_" in pattern else None


def absent_value(operand: Operand, found: list[str]) -> str | None:
    """Return a valid value that no row has, or None."""
    if "enum" in operand.kind.schema:
        return next((one for one in operand.kind.schema["enum"] if one not in found), None)  # type: ignore[attr-defined]
    if prefix := prefix_of(operand):
        return ids.new_id(prefix)
    return "XXX" if "pattern" in operand.kind.schema else "2026-12-31" if "format" in operand.kind.schema else "absent"


class LongList:
    """A list at `path` and its filters."""

    def __init__(self, path: str, account: Account) -> None:
        self.path, self.account = path, account
        view = view_at(path).cls
        self.filters: dict[str, Query] = {
            label: query
            for name, operand in view.filterset_class.operands.items()
            for label, query in cases(name, operand, view.queryset.model, account)
        }

    def queries(self, most_pairs: int | None) -> dict[str, Query]:
        """Return the filters and their pairs, or as many pairs drawn at random."""
        pairs = {
            f"{one} + {other}": self.filters[one] | self.filters[other]
            for one, other in itertools.combinations(self.filters, 2)
            if not {key.partition("[")[0] for key in self.filters[one]}
            & {key.partition("[")[0] for key in self.filters[other]}
        }
        drawn = pairs if most_pairs is None else random.Random(0).sample(sorted(pairs), min(most_pairs, len(pairs)))
        return {"none": {}, **self.filters, **{label: pairs[label] for label in drawn}}

    def timed(self, query: Query, slow: float) -> tuple[float, str]:
        """Return the time of a page in milliseconds, and what was odd about it. Pages over `slow` are repeated."""
        spent: list[float] = []
        while not spent or (spent[-1] > slow / 2 and len(spent) < REPEATS):
            began = time.perf_counter()
            page = ApiClient(self.key).get(f"{self.path}?{urlencode(query)}")
            spent.append((time.perf_counter() - began) * 1000)
        odd = "" if page.status == 200 else str(page.status)
        return median(spent), "estimate" if "totalCountIsExact" in page.body else odd

    def report(self, slow: float, most_pairs: int | None, *, every: bool) -> None:
        """Print the slow queries."""
        self.key = factories.key_text(self.account)
        middle = {"created[lte]": f"{timezone.now() - timedelta(days=DAYS // 2):%Y-%m-%dT%H:%M:%SZ}"}
        self.timed({}, slow)
        print(f"{self.path:<60}{'first':>9}{'middle':>9}{'counted':>9}", flush=True)
        worst = failed = 0
        times: list[float] = []
        queries = self.queries(most_pairs)
        for label, query in queries.items():
            has_time = any(key.startswith("created") for key in query)
            uncounted = query | {"count": "none"}
            first, odd = self.timed(uncounted, slow)
            deep, more = (0.0, "") if has_time else self.timed(uncounted | middle, slow)
            counted, further = (0.0, "") if "+" in label else self.timed(query, 1000 + slow)
            found = {one for one in (odd, more, further) if one}
            times += [first] if has_time else [first, deep]
            is_slow = max(first, deep) > slow
            if every or is_slow or counted > 1000 + slow or found - {"estimate"}:
                print(f"{label:<60}{first:>9.0f}{deep:>9.0f}{counted:>9.0f}  {' '.join(sorted(found))}", flush=True)
            worst += is_slow
            failed += bool(found - {"estimate"})
        times.sort()
        print(
            f"{self.path}: {worst} of {len(queries)} filters and pairs over {slow:.0f} ms, {failed} failed.\n"
            f"  Pages: median {median(times):.0f} ms, 99 % within {times[int(len(times) * 0.99)]:.0f} ms, "
            f"slowest {times[-1]:.0f} ms\n",
            flush=True,
        )

    def export(self, form: str, seconds: float, profile: str | None) -> None:
        """Print the rate of an export that is cut off after `seconds`."""
        api = ApiClient(factories.key_text(self.account))
        profiler = cProfile.Profile() if profile == form else None
        with mock.patch("kit.rest.export.sleep") if profiler else nullcontext():
            began, cpu, rows, size = time.perf_counter(), time.process_time(), 0, 0
            reply = api.client.get(f"{self.path}?format={form}", headers=api.headers)
            if profiler:
                profiler.enable()
            for chunk in reply.streaming_content:
                rows, size = rows + chunk.count(b"\n"), size + len(chunk)
                if time.perf_counter() - began > seconds:
                    break
            if profiler:
                profiler.disable()
            spent, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(
            f"{self.path} as {form}: {rows / spent:,.0f} rows/s, {size / spent / 1e6:.1f} MB/s, "
            f"{cpu / rows * 1e6:.0f} µs of CPU per row",
            flush=True,
        )
        if profiler:
            pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main(options: argparse.Namespace) -> None:
    setup_test_environment()
    gc.collect()
    gc.freeze()  # as the service does
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False, keepdb=options.keep)
    try:
        measure(options)
    finally:
        if not options.keep:
            connection.creation.destroy_test_db(name, verbosity=0)


def wait_for_autovacuum() -> None:
    """Wait until autovacuum has visited the filled tables, and summarise what it left out, as the service does."""
    due = """SELECT EXISTS (SELECT FROM pg_stat_user_tables WHERE n_ins_since_vacuum > 1000 + 0.2 * n_live_tup)
      OR EXISTS (SELECT FROM pg_stat_progress_vacuum)"""
    began, is_due = time.monotonic(), connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        while is_due:
            time.sleep(1)
            cursor.execute(due)
            [(is_due,)] = cursor.fetchall()
            if not is_due:
                cursor.execute(SUMMARIES)
                names = [name for name, _ in cursor.fetchall()]
                is_due = summarize_new_blocks() > 0 or any(first_unsummarised(name) is not None for name in names)
    print(f"Autovacuum took {time.monotonic() - began:.0f} s more", flush=True)


def measure(options: argparse.Namespace) -> None:
    known = [one.path for one in ENDPOINTS if one.method == "GET" and one.is_exportable_list]
    print(f"{connection.vendor}, {options.rows:,} rows per list; not measured: {', '.join(set(known) - set(ROWS_OF))}")
    account = Account.objects.filter(name="Long lists").first()
    if account is None:
        account = factories.account("Long lists")
        values = shared_values(account)
        for path in options.list:
            fill(path, options.rows, values)
        wait_for_autovacuum()
    if options.analyze:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    for path in options.list:
        long_list = LongList(path, account)
        for form in ("csv", "jsonl"):
            long_list.export(form, options.seconds, options.profile)
        if not options.exports:
            long_list.report(options.slow, options.pairs, every=options.every)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each list")
    parser.add_argument("--list", nargs="+", default=list(ROWS_OF), choices=list(ROWS_OF), metavar="PATH")
    parser.add_argument("--analyze", action="store_true", help="vacuum and gather statistics first")
    parser.add_argument("--slow", type=float, default=300, help="print filters from this many milliseconds")
    parser.add_argument("--pairs", type=int, help="of filters, drawn at random; default: all")
    parser.add_argument("--every", action="store_true", help="print all filters")
    parser.add_argument("--seconds", type=float, default=5, help="length of an export")
    parser.add_argument("--exports", action="store_true", help="measure only exports")
    parser.add_argument("--profile", choices=["csv", "jsonl"], help="profile these exports")
    parser.add_argument("--keep", action="store_true", help="keep the test database, or use the one that was kept")
    options = parser.parse_args()
    with directory:
        main(options)

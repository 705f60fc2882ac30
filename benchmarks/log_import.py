"""Importing an access log of a million lines: `manage.py import_access_log`, on PostgreSQL and on SQLite.

    python -m benchmarks.log_import [--sqlite] [--lines 1000000] [--before REVISION --rounds 3]

The log is nginx's, of one day. The n-th of 5,000 pages and of 50,000 visitors' addresses has 1/n of the first one's
requests; 40 User-Agents are browsers' and 12 crawlers', which make three in ten requests. One in 50 requests is for
robots.txt or an asset. Afterwards, decisions and totals must equal the log's, and a second import must add nothing.
With --before, an earlier commit imports the same log in turn. Each round has a site of its own. Seconds of the CPU are
those of the importing process with its start, and of the whole of PostgreSQL: on a busy machine they tell what an
idle one would need.
"""

import json
import random
import resource
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.before import checked_out
from benchmarks.edge_caching import BROWSER, SECTIONS
from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds, processor_seconds
from benchmarks.ours import Installation, installed
from benchmarks.report import parser, publish
from benchmarks.traffic import zipf
from run import ROOT

PAGES, ADDRESSES, ITEMS, BULK = 5_000, 50_000, 1_000, 500
MOST_SECONDS = 3_600
CRAWLERS = (
    *("GPTBot/1.2", "ClaudeBot/1.0", "CCBot/2.0", "Bytespider", "PerplexityBot/1.0", "Amazonbot/0.1"),
    *(
        "Googlebot/2.1",
        "bingbot/2.0",
        "Applebot/0.1",
        "OAI-SearchBot/1.0",
        "ChatGPT-User/1.0",
        "meta-externalagent/1.1",
    ),
)
OPEN = ("/robots.txt", "/assets/site.css", "/static/app.js")
REFERERS = ("-", "-", "https://www.google.com/", "https://blog.example/", "https://chatgpt.com/")


def path_of(page: int) -> str:
    return f"/{SECTIONS[page % len(SECTIONS)][0]}/{page}"


def write_log(path: Path, count: int) -> int:
    """Write a log of yesterday with that many lines, in order of time; return the number of requests for pages."""
    draw = random.Random(27)
    begin = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    pages = draw.choices(range(PAGES), cum_weights=zipf(PAGES), k=count)
    addresses = draw.choices(range(ADDRESSES), cum_weights=zipf(ADDRESSES), k=count)
    decided = 0
    with path.open("w") as file:
        for number, (page, address) in enumerate(zip(pages, addresses, strict=True)):
            moment = begin + timedelta(seconds=number * 86_399 // count)
            if draw.random() < 0.3:
                agent, referer = f"Mozilla/5.0 (compatible; {draw.choice(CRAWLERS)})", "-"
            else:
                version = draw.randrange(100, 140)
                agent, referer = BROWSER.format(version, version), draw.choice(REFERERS)
            uri = draw.choice(OPEN) if draw.random() < 0.02 else path_of(page)
            decided += uri not in OPEN
            file.write(
                f"198.{18 + address // 62_500}.{address // 250 % 250}.{1 + address % 250} - - "
                f'[{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET {uri} HTTP/1.1" 200 {2_000 + page} "{referer}" "{agent}"\n'
            )
    return decided


def register(made: Installation, host: str) -> None:
    """Make the site with a policy for each section, and an item for each of the most requested pages."""
    policies = {name: made.policy(*rules) for name, rules in SECTIONS}
    rules = [{"pattern": f"/{name}/*", "policyId": policy} for name, policy in policies.items()]
    made.post("/v1/sites", {"host": host, "mode": "observe", "rules": rules})
    for first in range(0, ITEMS, BULK):
        rows = [
            {
                "title": f"Page {n}",
                "source": f"https://{host}{path_of(n)}",
                "policyId": policies[SECTIONS[n % len(SECTIONS)][0]],
            }
            for n in range(first, first + BULK)
        ]
        made.post("/v1/content/bulk", {"items": rows})


class Run(NamedTuple):
    """Seconds, and those of the CPU in the command's process and in PostgreSQL."""

    seconds: float
    cpu: float
    database: float


def imported(made: Installation, log: Path, host: str) -> tuple[Run, dict[str, Any]]:
    """Import the log and return the times and the command's result."""
    begun, cpu, database = time.perf_counter(), children_seconds(), database_seconds(made)
    text = made.manage("import_access_log", str(log), "--site", host, "--json", seconds=MOST_SECONDS)
    run = Run(time.perf_counter() - begun, children_seconds() - cpu, database_seconds(made) - database)
    return run, json.loads(text.splitlines()[-1])


def database_seconds(made: Installation) -> float:
    """Return the CPU time of PostgreSQL in seconds; 0 with SQLite, which has no process of its own."""
    return processor_seconds(made.services.pids) if made.services else 0.0


def import_twice(made: Installation, host: str, log: Path, lines: int, decided: int) -> tuple[Run, Run]:
    """Import the log of a new site and import it again; return both times."""
    register(made, host)
    before = made.rows()
    first, result = imported(made, log, host)
    expect_equal_totals(made, result, lines, decided, before)
    again, repeated = imported(made, log, host)
    expect(repeated["imported"] == 0 and repeated["repeated"] == decided, f"a second import adds: {repeated}")
    return first, again


def expect_equal_totals(made: Installation, result: dict[str, Any], lines: int, decided: int, before: int) -> None:
    """Expect each request for a page to be imported and recorded once."""
    skipped = lines - decided
    expect(result["lines"] == lines and result["imported"] == decided, f"{decided:,} pages were asked for: {result}")
    expect(result["skipped"]["openPages"] + result["skipped"]["assets"] == skipped, f"{skipped:,} are open: {result}")
    stored = made.rows() - before
    expect(stored == decided, f"{stored:,} decisions are stored, of {decided:,}")


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.set_defaults(rounds=1)
    arguments.add_argument("--sqlite", action="store_true")
    arguments.add_argument("--lines", type=int, default=1_000_000)
    arguments.add_argument("--before", metavar="REVISION")
    options = arguments.parse_args()
    options.seconds = 0
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        checkouts = {"now": ROOT}
        if options.before:
            checkouts[options.before] = checked_out(stack, directory, options.before)
        sides = {
            name: installed(
                stack, f"imports_{n}", directory, services, checkout=checkout, CRAWLER_DNS="off", CRAWLER_LISTS="off"
            )
            for n, (name, checkout) in enumerate(checkouts.items())
        }
        log = directory / "access.log"
        decided = write_log(log, options.lines)
        runs: dict[str, list[tuple[Run, Run]]] = {name: [] for name in sides}
        for number in range(options.rounds):
            for name, made in sides.items():
                runs[name].append(import_twice(made, f"pub-{number}.example", log, options.lines, decided))
        database = "SQLite" if options.sqlite else "PostgreSQL"
        text = (
            f"{options.lines:,} lines with {decided:,} decisions, on {database}; peak memory of an import "
            f"{peak_of_children():.0f} MiB:\n\n"
            "| side | import, s | lines/s | CPU of the import, s | CPU of PostgreSQL, s | the same log again, s |\n"
            "|---|---:|---:|---:|---:|---:|\n" + "\n".join(row(name, own, options.lines) for name, own in runs.items())
        )
        publish("log_import --sqlite" if options.sqlite else "log_import", text, runs, options)


def row(name: str, runs: list[tuple[Run, Run]], lines: int) -> str:
    """Return a row of medians."""
    seconds = median(first.seconds for first, _ in runs)
    cpu = median(first.cpu for first, _ in runs)
    database = median(first.database for first, _ in runs)
    again = median(second.seconds for _, second in runs)
    return f"| {name} | {seconds:.0f} | {lines / seconds:,.0f} | {cpu:.0f} | {database:.0f} | {again:.0f} |"


def peak_of_children() -> float:
    """Return the largest resident memory of an ended child process in MiB: that of an import."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    main()

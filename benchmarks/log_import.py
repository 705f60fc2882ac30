"""Importing an access log of a million lines: `manage.py import_access_log`, on PostgreSQL and on SQLite.

    python -m benchmarks.log_import [--sqlite] [--lines 1000000]

The log is nginx's, of one day. The n-th of 5,000 pages and of 50,000 visitors' addresses has 1/n of the first one's
requests; 40 User-Agents are browsers' and 12 crawlers', which make three in ten requests. One in 50 requests is for
robots.txt or an asset. Afterwards, decisions and totals must equal the log's, and a second import must add nothing.
"""

import json
import random
import resource
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.edge import BROWSER, SECTIONS
from benchmarks.harness import expect, workplace
from benchmarks.ours import Installation, installed
from benchmarks.report import parser, publish
from benchmarks.traffic import zipf

HOST = "pub.example"
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
REFERERS = ("-", "-", "https://www.google.com/", f"https://{HOST}/free/0", "https://chatgpt.com/")


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


def register(made: Installation) -> None:
    """Make the site with a policy for each section, and an item for each of the most requested pages."""
    policies = {name: made.policy(*rules) for name, rules in SECTIONS}
    rules = [{"pattern": f"/{name}/*", "policyId": policy} for name, policy in policies.items()]
    made.post("/v1/sites", {"host": HOST, "mode": "observe", "rules": rules})
    for first in range(0, ITEMS, BULK):
        rows = [
            {
                "title": f"Page {n}",
                "source": f"https://{HOST}{path_of(n)}",
                "policyId": policies[SECTIONS[n % len(SECTIONS)][0]],
            }
            for n in range(first, first + BULK)
        ]
        made.post("/v1/content/bulk", {"items": rows})


def imported(made: Installation, log: Path) -> tuple[float, dict[str, Any]]:
    """Import the log and return the seconds and the command's result."""
    begun = time.perf_counter()
    text = made.manage("import_access_log", str(log), "--site", HOST, "--json", seconds=MOST_SECONDS)
    return time.perf_counter() - begun, json.loads(text.splitlines()[-1])


def expect_equal_totals(made: Installation, result: dict[str, Any], lines: int, decided: int) -> None:
    """Expect each request for a page to be imported and recorded once."""
    skipped = lines - decided
    expect(result["lines"] == lines and result["imported"] == decided, f"{decided:,} pages were asked for: {result}")
    expect(result["skipped"]["openPages"] + result["skipped"]["assets"] == skipped, f"{skipped:,} are open: {result}")
    expect(made.rows() == decided, f"{made.rows():,} decisions are stored, of {decided:,}")


def main() -> None:
    arguments = parser(__doc__, load=False, repeated=False)
    arguments.add_argument("--sqlite", action="store_true")
    arguments.add_argument("--lines", type=int, default=1_000_000)
    options = arguments.parse_args()
    options.seconds = 0
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        made = installed(stack, "imports", directory, services, CRAWLER_DNS="off", CRAWLER_LISTS="off")
        register(made)
        log = directory / "access.log"
        decided = write_log(log, options.lines)
        seconds, result = imported(made, log)
        expect_equal_totals(made, result, options.lines, decided)
        again, repeated = imported(made, log)
        expect(repeated["imported"] == 0 and repeated["repeated"] == decided, f"a second import adds: {repeated}")
        database = "SQLite" if options.sqlite else "PostgreSQL"
        text = (
            "| lines | imported decisions | import, s | lines/s | the same log again, s | peak memory, MiB |\n"
            "|---:|---:|---:|---:|---:|---:|\n"
            f"| {options.lines:,} | {decided:,} | {seconds:.0f} | {options.lines / seconds:,.0f} | {again:.0f} "
            f"| {peak_of_children():.0f} |"
        )
        place = "log_import --sqlite" if options.sqlite else "log_import"
        publish(place, f"On {database}:\n\n{text}", {"seconds": seconds, "again": again}, options)


def peak_of_children() -> float:
    """Return the largest resident memory of an ended child process in MiB: that of an import."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    main()

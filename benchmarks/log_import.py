"""An access log of a million lines, imported by the command.

    python -m benchmarks.log_import [--sqlite] [--lines 1000000]

The log is in nginx's combined format, from a fixed seed: half of the requests are of readers with addresses of their
own, the others of crawlers, and popular pages are requested more often. The site sells one of four sections. The
report of crawlers must agree with a count of the lines. No name server is asked about their addresses: how long that
takes is its affair.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, Installation, installed
from benchmarks.report import machine, parser

HOST, PER_SECOND = "pub.example", 12
READER = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
)
CRAWLERS = ("GPTBot", "ClaudeBot", "Googlebot", "Bingbot")
AGENTS = [READER, *(f"Mozilla/5.0 (compatible; {name}/1.0; +https://{name}.example/bot)" for name in CRAWLERS)]
SHARES = (50, 20, 10, 12, 8)
PAGES = [
    f"/{section}/article-{number}" for section in ("news", "opinion", "premium", "sport") for number in range(5_000)
]
SECONDS = 3_600  # after which a hanging import fails


def lines(count: int, taken: Counter[str]) -> Iterator[str]:
    """Yield the log's lines, the oldest first, and count those of each crawler."""
    chosen = random.Random(1)
    first = datetime.now(UTC) - timedelta(seconds=count / PER_SECOND)
    for number in range(count):
        [agent] = chosen.choices(AGENTS, SHARES)
        host = f"20.{chosen.randrange(256)}.{chosen.randrange(256)}.{chosen.randrange(256)}"
        if agent != READER:
            host = f"66.249.{chosen.randrange(8)}.{chosen.randrange(256)}"
            taken[CRAWLERS[AGENTS.index(agent) - 1]] += 1
        page = PAGES[min(int(chosen.paretovariate(0.6)), len(PAGES)) - 1]
        at = f"{first + timedelta(seconds=number / PER_SECOND):%d/%b/%Y:%H:%M:%S} +0000"
        yield f'{host} - - [{at}] "GET {page} HTTP/1.1" 200 {chosen.randrange(900, 90_000)} "-" "{agent}"\n'


def expect_counted(made: Installation, taken: Counter[str]) -> None:
    report = made.client.get("/v1/analytics/crawlers", params={"period": "30d"}).json()
    counted = {row["name"]: row["requests"] for row in report["byCrawler"]}
    expect(counted == taken, f"the report has {counted}, the log {dict(taken)}")


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--sqlite", action="store_true")
    options.add_argument("--lines", type=int, default=1_000_000)
    given = options.parse_args()
    with workplace(storage=not given.sqlite) as (stack, directory, services):
        made = installed(stack, "logs", directory, services, CRAWLER_DNS="false")
        sold = made.policy(ALLOW_LICENSED, DENY_ALL)
        made.post("/v1/sites", {"host": HOST, "rules": [{"pattern": "/premium/*", "policyId": sold}]})
        log, taken = Path(directory, "access.log"), Counter[str]()
        with log.open("w") as file:
            file.writelines(lines(given.lines, taken))
        spent, began = children_seconds(), time.perf_counter()
        output = made.manage("import_access_log", str(log), "--site", HOST, "--json", seconds=SECONDS)
        seconds, spent = time.perf_counter() - began, children_seconds() - spent
        result = json.loads(output.splitlines()[-1])
        database = "SQLite" if given.sqlite else "PostgreSQL"
        print(
            f"{given.lines:,} lines on {database} in {seconds:.1f} s, {spent:.1f} s of CPU of the command. {machine()}"
        )
        expect(result["imported"] == given.lines, f"{result['imported']:,} lines were imported: {result['problems']}")
        expect_counted(made, taken)


if __name__ == "__main__":
    main()

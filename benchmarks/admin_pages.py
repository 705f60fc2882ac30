"""Queries and server time of every admin page on much data.

    python -m benchmarks.admin_pages                                   # 200,000 decisions of a day, 5,000 customers
    python -m benchmarks.admin_pages --sqlite
    python -m benchmarks.admin_pages --events 20000 --requesters 500   # smaller
    python -m benchmarks.admin_pages --only / --repeat 1               # only pages whose address contains this

Runs the service's own views in one process, for a superuser and for a viewer of some accounts, whose role and scope
cost queries too. The pages come from the site's URL patterns (tests.admin.every_page), so new ones are
included: forms, object pages, histories, confirmation pages; the overview of several periods, including the process's
first page; every list with its search and each filter; Ctrl+K. Exits with status 1 if a page needs over 30 queries
or 500 ms of processor time, that of the database included. PostgreSQL's is the time that its queries take.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import machine
from run import ROOT

MOST_QUERIES, MOST_MS = 30, 500


@dataclass(frozen=True)
class Sizes:
    events: int = 200_000
    hours: int = 24  # of the decisions, until now
    items: int = 20_000
    requesters: int = 5_000
    licenses: int = 5_000
    entries: int = 20_000  # of the ledger, this month
    changes: int = 50_000  # in the audit log
    policies: int = 200
    keys: int = 500  # and as many clients of the licence server
    sites: int = 50  # and as many webhook endpoints
    pages: int = 1_000  # visited at the edge, by each of some crawlers, on each of some days
    days: int = 30  # of visits


def seed(made: Installation, sizes: Sizes) -> None:
    """Create one row of each kind through the API, and the sites, each with an item of its own behind it."""
    policy = made.policy(ALLOW_LICENSED, DENY_ALL)
    [item] = made.items(policy)
    made.expect_decisions(item, LICENSED, UNLICENSED)
    terms = {"requesterId": "org_acme", "licenseType": "editorial", "price": {"amount": "10", "currency": "EUR"}}
    made.post("/v1/licenses", terms)
    made.post("/v1/license-clients", {"requesterId": "org_acme", "name": "Crawler"})
    for number in range(sizes.sites):
        rules = [{"pattern": "/a/*", "policyId": policy}]
        made.post("/v1/sites", {"host": f"site-{number}.example", "mode": "enforce", "rules": rules})
    made.post("/v1/webhooks", {"url": "https://hooks.example/in"})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Sizes()).items():
        arguments.add_argument(f"--{name}", type=int, default=value, help=f"default {value:,}")
    arguments.add_argument("--repeat", type=int, default=5, help="of each page; the median counts")
    arguments.add_argument("--sqlite", action="store_true")
    arguments.add_argument("--only", default="", help="measure only pages whose address contains this")
    options = arguments.parse_args()
    sizes = Sizes(**{name: getattr(options, name) for name in vars(Sizes())})
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        made = installed(stack, "admin_pages", directory, services)
        seed(made, sizes)
        made.server.stop()  # its own counts would meet the rows of visits
        code = f"from benchmarks.admin_data import Sizes, fill; fill(Sizes(**{asdict(sizes)!r}))"
        made.manage("shell", "--verbosity", "0", "-c", code, seconds=3600)
        code = f"from benchmarks.admin_measure import main; main({options.repeat}, {options.only!r})"
        command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
        environment = {**made.environment, "ALLOWED_HOSTS": "testserver", "PAGES_PER_MINUTE": "1000000"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        expect(done.returncode == 0, "the pages could not be measured")
        pages = json.loads(done.stdout.splitlines()[-1])
    print(f"{sizes}. {machine()}. Load average {os.getloadavg()[0]:.1f}.\n")
    print("| who | page | status | queries | processor ms | in the database | in the process |")
    print("|---|---|---:|---:|---:|---:|---:|")
    slow = 0
    for page in sorted(pages, key=lambda page: -page["cost"]):
        over = page["queries"] > MOST_QUERIES or page["cost"] > MOST_MS or page["status"] >= 400
        slow += over
        mark = " **over**" if over else ""
        times = " | ".join(f"{page[name]:.0f}" for name in ("cost", "database", "python"))
        figures = f"{page['status']} | {page['queries']} | {times}"
        print(f"| {page['who']} | {page['path'][:110]}{mark} | {figures} |")
    print(f"\n{len(pages)} pages, {slow} over {MOST_QUERIES} queries or {MOST_MS} ms.")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()

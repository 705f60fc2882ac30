"""Queries and server time of every admin page on much data.

    python -m benchmarks.admin_pages                                     # 1 million decisions, 50,000 items
    python -m benchmarks.admin_pages --items 1000000 --events 3000000    # larger
    python -m benchmarks.admin_pages --events 50000 --items 5000         # smaller

Runs the service's own views in one process on PostgreSQL, for a superuser and for a viewer of some accounts, whose
role and scope cost queries too. The pages come from the site's URL patterns (tests.admin.every_page), so new ones are
included: forms, object pages, histories, confirmation pages; the overview of several periods, including the process's
first page; every list with its search and each filter; Ctrl+K. Exits with status 1 if a page needs 25 queries or 500
ms.
"""

import argparse
import json
import os
import subprocess
import sys

from benchmarks.admin_data import Sizes, fill
from benchmarks.harness import expect, workplace
from benchmarks.ours import installed
from benchmarks.report import machine
from run import ROOT

MOST_QUERIES, MOST_MS = 24, 500


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Sizes()).items():
        arguments.add_argument(f"--{name}", type=int, default=value, help=f"default {value:,}")
    arguments.add_argument("--repeat", type=int, default=5, help="of each page; the median counts")
    options = arguments.parse_args()
    repeat, sizes = options.repeat, Sizes(**{name: getattr(options, name) for name in vars(Sizes())})
    with workplace() as (stack, directory, services):
        assert services
        made = installed(stack, "admin_pages", directory, services)
        fill(made, sizes)
        code = f"from benchmarks.admin_measure import main; main({repeat})"
        command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
        environment = {**made.environment, "ALLOWED_HOSTS": "testserver", "PAGES_PER_MINUTE": "1000000"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        expect(done.returncode == 0, "the pages could not be measured")
        pages = json.loads(done.stdout.splitlines()[-1])
    print(f"{sizes}. {machine()}. Load average {os.getloadavg()[0]:.1f}.\n")
    print("| who | page | status | queries | ms | in the database | computing |\n|---|---|---:|---:|---:|---:|---:|")
    slow = 0
    for page in sorted(pages, key=lambda page: -page["ms"]):
        over = page["queries"] > MOST_QUERIES or page["ms"] > MOST_MS or page["status"] >= 400
        slow += over
        mark = " **over**" if over else ""
        times = " | ".join(f"{page[name]:.0f}" for name in ("ms", "database", "python"))
        figures = f"{page['status']} | {page['queries']} | {times}"
        print(f"| {page['who']} | {page['path'][:110]}{mark} | {figures} |")
    print(f"\n{len(pages)} pages, {slow} over {MOST_QUERIES} queries or {MOST_MS} ms.")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()

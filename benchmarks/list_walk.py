"""The cost of a page of GET /v1/content at the start, middle and end of a long list.

    python benchmarks/list_walk.py [--items N] [--limit N]
    python -m tests.services python benchmarks/list_walk.py    # on PostgreSQL

Uses a temporary test database. Requests go through Django's test client, so the figures include all of the service but
the HTTP server. A page's cost includes its `totalCount`, which is the same at every depth.
"""

import argparse
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
directory = TemporaryDirectory()
os.environ["DATA_DIR"] = directory.name  # an SQLite database is made there

import django  # noqa: E402 - the settings read the environment

django.setup()

from django.db import connection  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from django.utils import timezone  # noqa: E402

from licensing.content.models import Content  # noqa: E402
from tests import factories  # noqa: E402
from tests.client import ApiClient  # noqa: E402

PAGES_IN_A_SAMPLE = 40


def main(items: int, limit: int) -> None:
    setup_test_environment()
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        spent = walk(items, limit)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    print(f"{connection.vendor}, {items:,} items, {len(spent):,} pages of {limit}; milliseconds a page")
    print(f"{'pages':<15}{'median':>8}{'fastest':>9}{'slowest':>9}")
    size = min(PAGES_IN_A_SAMPLE, len(spent) // 3)
    middle = (len(spent) - size) // 2
    for label, begin in (("first", 0), ("middle", middle), ("last", len(spent) - size)):
        sample = [seconds * 1000 for seconds in spent[begin : begin + size]]
        print(f"{label + f' {size}':<15}{median(sample):>8.1f}{min(sample):>9.1f}{max(sample):>9.1f}")


def walk(items: int, limit: int) -> list[float]:
    """Return the seconds for each full page of the list."""
    account = factories.account()
    api = ApiClient(factories.key_text(account))
    begin = timezone.now() - timedelta(days=30)
    moments = (begin + timedelta(seconds=number) for number in range(items))
    rows = [Content(account=account, title="Item", created=moment, updated=moment) for moment in moments]
    Content.objects.bulk_create(rows, batch_size=5_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE licensing_content")
    api.get(f"/v1/content?limit={limit}")  # loading at the first request does not belong to a page

    spent: list[float] = []
    path = f"/v1/content?limit={limit}"
    while True:
        began = time.perf_counter()
        page = api.get(path)
        spent.append(time.perf_counter() - began)
        assert page.status == 200, page
        if not page["hasMore"]:
            return spent[:-1] or spent  # the last may hold fewer items
        path = f"/v1/content?limit={limit}&cursor={page['nextCursor']}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--limit", type=int, default=100)
    options = parser.parse_args()
    with directory:
        main(options.items, options.limit)

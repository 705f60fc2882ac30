"""The cost of pages of GET /v1/access/decisions by filter, on an account with many decisions.

    python -m tests.services --no-fsync python benchmarks/decision_lists.py [--decisions N] [--analyze]

Times the first page and one in the middle of each filter and each pair of filters, through Django's test client. By
default PostgreSQL has no statistics of the new rows, as after a night's import.
"""

import argparse
import itertools
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
directory = TemporaryDirectory()
os.environ["DATA_DIR"] = directory.name

import django  # noqa: E402 - the settings read the environment

django.setup()

from django.db import connection  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.models import Account  # noqa: E402
from analytics.events.partitions import ensure_partitions  # noqa: E402
from kit.values import ids  # noqa: E402
from tests import factories  # noqa: E402
from tests.client import ApiClient  # noqa: E402

DAYS = 365
ITEMS, REQUESTERS, POLICIES = 200, 1_000, 20
REPEATS = 3
# One in 50,000 decisions has the rare reason, page, site and referrer.
EVENTS = """
INSERT INTO analytics_accessevent
  (id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, facts, created)
SELECT
  (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008' || substr(md5(n::text), 1, 15))::uuid,
  %(account)s, contents[1 + (n * 7919::bigint) %% array_length(contents, 1)],
  requesters[1 + (n * 104729::bigint) %% array_length(requesters, 1)], policies[1 + n %% array_length(policies, 1)], 1,
  n %% 3 > 0, CASE WHEN n %% 50000 = 0 THEN 'rate_limit_exceeded' WHEN n %% 3 = 0 THEN 'no_license' END,
  jsonb_build_object('requester', '{}'::jsonb,
    'url', 'https://example.com/' || CASE WHEN n %% 50000 = 7 THEN 'rare' ELSE (n %% 1000)::text END,
    'siteId', CASE WHEN n %% 50000 = 7 THEN %(rare)s ELSE %(usual)s END,
    'identifiedBy', CASE WHEN n %% 4 = 0 THEN 'user_agent' ELSE 'nothing' END,
    'referrer', CASE WHEN n %% 50000 = 7 THEN 'rare.example' ELSE 'www.example' END),
  moment
FROM generate_series(%(first)s::int, %(last)s::int) n,
  LATERAL (SELECT now() - (n::float / %(count)s) * interval '365 days' AS moment) moments,
  LATERAL (SELECT %(contents)s::uuid[] AS contents, %(requesters)s::bigint[] AS requesters,
    %(policies)s::uuid[] AS policies) drawn"""


def uuid_of(prefix: str, id: str) -> str:
    return str(UUID(hex=ids.hex_of(prefix, id)))


def fill(account: Account, decisions: int, rare: str, usual: str) -> None:
    policies = [factories.policy(account, name=f"Policy {number}") for number in range(POLICIES)]
    contents = [factories.content(account) for _ in range(ITEMS)]
    requesters = [factories.requester(account, requester_id=f"org_{number}") for number in range(REQUESTERS)]
    ensure_partitions(timezone.now() - timedelta(days=DAYS), months_ahead=13)
    values = {
        "account": uuid_of("acc", account.pk),
        "contents": [uuid_of("cnt", one.pk) for one in contents],
        "policies": [uuid_of("pol", one.pk) for one in policies],
        "requesters": [one.pk for one in requesters],
        "count": decisions,
        "rare": rare,
        "usual": usual,
    }
    with connection.cursor() as cursor:
        for first in range(1, decisions + 1, 250_000):
            last = min(first + 249_999, decisions)
            cursor.execute(EVENTS, {**values, "first": first, "last": last})
            print(f"{last:,} decisions", file=sys.stderr, flush=True)


def timed(api: ApiClient, query: dict[str, object]) -> tuple[float, str]:
    """Return the median time of a page in milliseconds, and what was odd about it."""
    spent, odd = [], set()
    for _ in range(REPEATS):
        began = time.perf_counter()
        page = api.get(f"/v1/access/decisions?{urlencode(query)}")
        spent.append((time.perf_counter() - began) * 1000)
        if page.status != 200:
            odd.add(str(page.status))
        elif "totalCountIsExact" in page.body:
            odd.add("estimate")
    return median(spent), " ".join(sorted(odd))


def main(decisions: int, *, analyze: bool, slow: float) -> None:
    setup_test_environment()
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        account = factories.account()
        api = ApiClient(factories.key_text(account))

        usual, rare = ids.new_id("site"), ids.new_id("site")
        fill(account, decisions, rare, usual)
        if analyze:
            with connection.cursor() as cursor:
                cursor.execute("VACUUM ANALYZE")
        report(api, usual, rare, slow)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def report(api: ApiClient, usual: str, rare: str, slow: float) -> None:
    now = timezone.now()
    some = api.get("/v1/access/decisions?limit=1&count=none")["data"][0]
    filters: dict[str, dict[str, object]] = {
        "item": {"contentId": some["contentId"]},
        "requester": {"requesterId": some["requester"]["id"] if isinstance(some["requester"], dict) else "org_1"},
        "policy": {"policyId": some["policyId"]},
        "denied": {"allowed": "false"},
        "reason": {"reason": "no_license"},
        "rare reason": {"reason": "rate_limit_exceeded"},
        "no such reason": {"reason": "no_policy"},
        "month": {
            "created[gte]": f"{now - timedelta(days=60):%Y-%m-%d}",
            "created[lt]": f"{now - timedelta(days=30):%Y-%m-%d}",
        },
        "url": {"url": "https://example.com/5"},
        "rare url": {"url": "https://example.com/rare"},
        "folder": {"url[prefix]": "https://example.com/99"},
        "site": {"siteId": usual},
        "rare site": {"siteId": rare},
        "identified": {"identifiedBy": "user_agent"},
        "referrer": {"referrer": "www.example"},
        "rare referrer": {"referrer": "rare.example"},
    }
    pairs = {
        f"{one} + {other}": filters[one] | filters[other]
        for one, other in itertools.combinations(filters, 2)
        if not filters[one].keys() & filters[other].keys()
    }
    middle = {"created[lte]": f"{now - timedelta(days=DAYS // 2):%Y-%m-%dT%H:%M:%SZ}"}
    api.get("/v1/access/decisions")
    print(f"{'filter':<32}{'no count':>10}{'middle':>10}{'counted':>10}")
    worst = 0
    for label, query in {"none": {}, **filters, **pairs}.items():
        first, odd = timed(api, query | {"count": "none"})
        deep, odd2 = (0.0, "") if "created[lt]" in query else timed(api, query | middle | {"count": "none"})
        counted, odd3 = timed(api, query)
        if max(first, deep) > slow or counted > 1000 + slow or " + " not in label or "503" in odd + odd2 + odd3:
            print(f"{label:<32}{first:>10.0f}{deep:>10.0f}{counted:>10.0f}  {odd} {odd2} {odd3}", flush=True)
        worst += max(first, deep) > slow
    print(f"{worst} of {1 + len(filters) + len(pairs)} over {slow:.0f} ms without the count")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--analyze", action="store_true", help="vacuum and gather statistics first")
    parser.add_argument("--slow", type=float, default=300, help="print pairs of filters from this many milliseconds")
    options = parser.parse_args()
    with directory:
        main(options.decisions, analyze=options.analyze, slow=options.slow)

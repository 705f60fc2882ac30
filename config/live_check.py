"""The front page's live check: a dry run for some prepared requesters and items of the demo.

It only uses the demo account and needs no key. The only values accepted from the URL are the names in
licensing.demo.story. Its rate is limited like that of any page (PAGES_PER_MINUTE).
"""

import json
import shlex
from collections.abc import Mapping
from functools import cache

from django.utils import timezone

from accounts.models import Account
from kit.http.errors import ApiError
from licensing.access.bodies import parse_check
from licensing.access.checks import check_access
from licensing.access.describe_decision import describe_decision, find_deciding_revision
from licensing.demo.story import CUSTOMERS, PREPAID, SHOWN_CUSTOMERS, SHOWN_ITEMS, read_items


def run_live_check(query: Mapping[str, str], base: str) -> dict[str, object] | None:
    """Run the check that the URL asks for, or the first one. Returns None without a demo account.

    The template gets the choices, and the answer or the problem that prevents one. `base` is the service's URL, for
    the curl line.
    """
    account = Account.objects.filter(is_demo=True, suspended_at=None).order_by("pk").first()
    if account is None:
        return None
    requester = choose(query.get("requester", ""), SHOWN_CUSTOMERS)
    item = choose(query.get("item", ""), SHOWN_ITEMS)
    body = {"externalId": item, "requester": requester_body(requester), "explain": True, "dryRun": True}
    [outcome] = check_access(account.pk, [parse_check(dict(body))], timezone.now())
    if isinstance(outcome, ApiError):
        answered: dict[str, object] = {"answer": None, "problem": outcome.message}
    else:
        revision = find_deciding_revision(outcome)
        answered = {"answer": describe_decision(outcome, revision.rules if revision else []), "policy": revision}
    names = {customer.id: customer.name or customer.id for customer in (*CUSTOMERS, *PREPAID)}
    return {
        "requesters": build_choices(SHOWN_CUSTOMERS, names, requester),
        "items": build_choices(SHOWN_ITEMS, read_titles(), item),
        "curl": build_curl_line(body, base),
        **answered,
    }


def choose(name: str, notes: Mapping[str, str]) -> str:
    return name if name in notes else next(iter(notes))


def build_choices(notes: Mapping[str, str], names: Mapping[str, str], chosen: str) -> list[dict[str, object]]:
    return [{"id": key, "name": names[key], "note": note, "is_chosen": key == chosen} for key, note in notes.items()]


@cache
def read_titles() -> dict[str, str]:
    return {item["externalId"]: item["title"] for item in read_items()}


def requester_body(requester_id: str) -> str | dict[str, object]:
    """Return the requester as the demo's own site would send it."""
    vouched = {customer.id: customer.vouched for customer in CUSTOMERS}.get(requester_id)
    if vouched is None:
        return requester_id
    return {"id": requester_id, "licenseType": vouched, "hasValidLicense": True}


def build_curl_line(body: Mapping[str, object], base: str) -> str:
    return (
        f"curl -s {shlex.quote(f'{base}/v1/access/check')} \\\n"
        '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(json.dumps(body))}"
    )

"""The how-to guides and the edge quickstart: every step as printed, in order, in one shell."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_access_licensing import Client

from tests.documentation.blocks import block, blocks, commands
from tests.documentation.running import filled, ran
from tests.served import Service

Replies = list[dict[str, Any]]


def sold(replies: Replies) -> None:
    customer, charged, renewed, extended, revoked, denied = replies
    assert customer["id"] == "org_initech"
    assert (charged["allowed"], charged["charge"]) == (True, {"amount": 0.05, "currency": "EUR"})
    assert (renewed["startsAt"][:10], renewed["price"]) == ("2100-01-01", {"amount": 1200, "currency": "EUR"})
    assert extended["expiresAt"].startswith("2100-01-15")
    assert (revoked["status"], denied["reason"]) == ("revoked", "no_license")


def priced(replies: Replies) -> None:
    denied, _, allowed = replies
    [offer] = denied["offers"]
    assert (denied["allowed"], offer["pricePerAccess"]) == (False, {"amount": 0.015, "currency": "USD"})
    assert (allowed["allowed"], allowed["offers"]) == (True, [])


def metered(replies: Replies) -> None:
    licence, token, item, read = replies
    assert (licence["requesterId"], token["token_type"]) == ("subscribers", "License")
    assert item["source"] == "https://metered.example/articles/1"
    assert (read["allowed"], read["rateLimit"]["remaining"]) == (True, 4)


def explained(replies: Replies) -> None:
    decision, again = replies
    assert (decision["reason"], again["reason"]) == ("no_license", "no_license")
    assert decision["trace"][0]["failed"]["condition"] == again["trace"][0]["failed"]["condition"] == "hasValidLicense"


def rotated(replies: Replies) -> None:
    made, audit, decisions, customer, merged = replies
    assert made["key"].startswith("svc_sk_")
    assert (audit["object"], decisions["object"]) == ("list", "list")
    assert customer["id"] == made["id"]
    assert merged["error"]["code"] == "resource_not_found"  # this key never was a customer's


def changed(replies: Replies) -> None:
    lint, tried, backtest, saved, allowed, rolled_back = replies
    assert [one["code"] for one in lint["findings"]] == ["allow_without_license"]
    assert (tried["allowed"], tried["id"], backtest["object"]) == (True, None, "policy_simulation")
    assert (saved["version"], len(saved["tests"]), allowed["permissions"]) == (2, 2, ["read"])
    assert (rolled_back["version"], len(rolled_back["rules"])) == (3, 1)


def closed(replies: Replies) -> None:
    refund, payment, statement, lines, owed = replies
    assert (refund["amount"], payment["amount"]) == (-12.5, 50)
    assert (statement["charges"], statement["refunds"], statement["payments"]) == (100, 12.5, 50)
    assert (statement["closing"], lines["totalCount"]) == (37.5, 2)
    assert {currency: float(amount) for currency, amount in owed.items()} == {"EUR": 37.5}


def watched(replies: Replies) -> None:
    key, visitors, pages, crawlers, observed, enforced = replies
    assert (key["permissions"], key["allowedHosts"]) == (["access:check"], ["pub.example"])
    objects = [report["object"] for report in (visitors, pages, crawlers, observed)]
    assert objects == ["visitor_report", "page_report", "crawler_report", "observed_report"]
    assert enforced["mode"] == "enforce"


GUIDES: dict[str, Callable[[Replies], None]] = {
    "docs/guides/sell-a-licence.md": sold,
    "docs/guides/price-a-crawler.md": priced,
    "docs/guides/free-articles.md": metered,
    "docs/guides/why-refused.md": explained,
    "docs/guides/rotate-a-leaked-key.md": rotated,
    "docs/guides/change-a-policy.md": changed,
    "docs/guides/month-end.md": closed,
    "docs/start/edge.md": watched,
}


@pytest.fixture
def leaked(service: Service) -> Iterator[str]:
    """Another key of the account."""
    with Client(service.key, service.url, http=httpx.Client(trust_env=False)) as client:
        yield client.create_api_key({"name": "Leaked", "type": "secret"})["key"]


@pytest.mark.parametrize("path", GUIDES)
def test_the_steps_of_a_guide_work(service: Service, leaked: str, tmp_path: Path, path: str):
    steps = [one.text.replace("LEAKED=svc_sk_…", f"LEAKED={leaked}") for one in blocks() if one.path == path]
    script = "\n".join([filled(block("docs/start/quickstart.md", "URL="), service), "echo BEGIN", *steps])
    printed = ran("bash", "-euo", "pipefail", "-c", script, cwd=tmp_path).partition("BEGIN\n")[2]
    GUIDES[path]([json.loads(line) for line in printed.splitlines() if line])


def test_the_crontab_names_commands_that_the_table_explains():
    """test_commands.py runs the table's commands."""
    path = "docs/guides/scheduled-jobs.md"
    scheduled = re.findall(r"manage\.py (.+?)(?: >/dev/null)?$", block(path), re.MULTILINE)
    assert set(scheduled) <= {command for where, command in commands() if where == path}

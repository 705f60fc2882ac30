import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_access_licensing import Client
from standardwebhooks import Webhook

from config.pages import openapi_document
from kit.http import deprecations
from tests.documentation.blocks import block, blocks
from tests.documentation.running import filled, ran
from tests.edge.asking import LICENSED
from tests.served import Service

NOBODY = {"action": "deny", "conditions": {"default": True}}
Shell = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def shell(service: Service, tmp_path: Path) -> Shell:
    """Run a printed script with these variables; return the JSON objects that it prints."""

    def run(script: str, **variables: str) -> list[dict[str, Any]]:
        known = {"URL": service.url, "BASE": service.url, "KEY": service.key, **variables}
        told = ran("bash", "-euo", "pipefail", "-c", script, cwd=tmp_path, **known)
        return [json.loads(line) for line in re.findall(r"^{.*}", told.replace("}{", "}\n{"), re.MULTILINE)]

    return run


@pytest.fixture
def api(shell: Shell) -> Callable[[str], list[dict[str, Any]]]:
    """Run a script that uses the README's `api`."""
    [shorthand] = [line for line in block("README.md", "URL=").splitlines() if line.startswith("api()")]
    return lambda script: shell(f"{shorthand}\n{script}")


def test_a_conditional_change(client: Client, service: Service, shell: Shell):
    policy = client.create_policy({"name": "Policy"})
    printed = block("docs/reference/api.md", "curl -i $URL/v1/policies/$ID")
    read, _, change = printed.partition("\n")
    shown = httpx.get(f"{service.url}/v1/policies/{policy['id']}", headers=client.http.headers, trust_env=False)
    tag = shown.headers["ETag"].strip('"')
    [seen] = shell(read, ID=policy["id"])
    assert seen["id"] == policy["id"]
    rules = json.dumps([NOBODY])
    change = change.replace("5d41402abc4b2a76b9719d91", tag).replace("[…]", rules)
    [changed] = shell(change, ID=policy["id"])
    assert changed["version"] == 2
    [refused] = shell(change, ID=policy["id"])
    assert refused["error"]["code"] == "precondition_failed"


def test_a_licence_token(client: Client, shell: Shell):
    policy = client.create_policy({"name": "Licensed only", "rules": [LICENSED]})
    host = "tokens.example"  # other tests have sites for pub.example, and only one account may have an unverified host
    client.create_site({"host": host, "rules": [{"pattern": "/premium/*", "policyId": policy["id"]}]})
    client.create_license({"requesterId": "org_acme", "licenseType": "commercial"})
    made = client.create_license_client({"requesterId": "org_acme"})
    text = block("docs/reference/edge.md", "curl -s $BASE/olp/token").replace("pub.example", host)
    [token] = shell(text, CLIENT_ID=made["id"], SECRET=made["secret"])
    assert (token["token_type"], token["expires_in"]) == ("License", 3600)


def test_webhooks(client: Client, api: Callable[[str], list[dict[str, Any]]]):
    policy = client.create_policy({"name": "Policy"})
    creations = [
        one.text for one in blocks() if one.path == "docs/guides/webhooks.md" and one.first.startswith("api webhooks")
    ]
    assert creations
    for text in creations:
        [made] = api(text.replace("pol_…", policy["id"]))
        assert made["secret"].startswith("whsec_")


IN_ADVANCE = "docs/guides/sell-in-advance.md"


def test_10_000_accesses_are_sold_in_advance(service: Service, shell: Shell):
    quickstart = filled(block("docs/start/quickstart.md", "URL="), service)
    steps = [one.text for one in blocks() if one.path == IN_ADVANCE and "org_quota" not in one.text]
    printed = "\n".join(steps)
    printed = printed.replace(" | grep -o '\"credits\":{[^}]*}'", "")

    _, _, licence, _, payment, grant, decision, access, webhook, entries, statements = shell(
        f"{quickstart}\n{printed}"
    )

    assert (licence["requesterId"], payment["amount"], grant["remaining"]) == ("org_reader", 500, 10_000)
    assert decision["credits"] == {"walletId": grant["walletId"], "unit": "access", "remaining": 9_999}
    assert access == {"hasAccess": True, "balance": 9_999, "available": 9_999}
    assert webhook["events"] == ["wallet.*", "grant.expiring"]
    assert [one["type"] for one in entries["data"]] == ["spend", "grant"]
    by_unit = {one["currency"]: one for one in statements["data"]}
    assert (by_unit["USD"]["charges"], by_unit["USD"]["closing"]) == (500, 0)
    assert by_unit["access"]["credits"]["closing"] == 9_999
    *_, again, _, entries, statements = shell(f"{quickstart}\n{printed}")
    assert (again["available"], len(entries["data"])) == (9_998, 3)
    assert {one["currency"]: one["charges"] for one in statements["data"]}["USD"] == 500


def test_use_beyond_a_monthly_quota_is_owed(service: Service, shell: Shell):
    """Five accesses at 50 USD cost what the guide's 12,500 at 0.02 USD do."""
    quickstart = filled(block("docs/start/quickstart.md", "URL="), service)
    [printed] = [one.text for one in blocks() if one.path == IN_ADVANCE and "org_quota" in one.text]
    checks = 'api access/check -d \'{"externalId": "quick-curl", "requester": "org_quota"}\'\n' * 5
    statements = 'api "statements?requesterId=org_quota"\n' + block("docs/guides/month-end.md", "curl")

    *_, last, statements, owed = shell(f"{quickstart}\n{printed.replace('0.02', '50')}\n{checks}\n{statements}")

    [usd] = statements["data"]
    assert last["credits"]["remaining"] == 950  # of the 1,000 lent
    assert (usd["charges"], usd["payments"], usd["closing"], usd["credits"]["closing"]) == (250, 200, 50, -50)
    assert float(owed["USD"]) == 50


@pytest.fixture
def sign(client: Client) -> Callable[[str], tuple[str, str]]:
    """Return a function that checks an item open to everybody, and returns its id and the signed decision."""
    rule = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}
    policy = client.create_policy({"name": "Everybody", "rules": [rule]})
    item = client.create_content({"title": "Item", "externalId": "a", "policyId": policy["id"]})["id"]

    def signed(permission: str) -> tuple[str, str]:
        asked = {"contentId": item, "requester": "org_acme", "permission": permission, "sign": True}
        return item, client.check_access(asked)["token"]

    return signed


def test_a_signed_decision_is_verified(sign: Callable[[str], tuple[str, str]], service: Service, tmp_path: Path):
    for permission, said in (("ai_training", "allowed\n"), ("read", "")):
        item, token = sign(permission)
        printed = filled(block("docs/guides/signed-decisions.md", "import jwt"), service)
        printed = re.sub(r"cnt_\w{26}", item, printed).replace("    ...", '    print("allowed")')
        assert ran(sys.executable, "-c", f"token = {token!r}\n{printed}", cwd=tmp_path) == said


def test_a_signed_decision_is_verified_without_a_connection(sign, service, tmp_path):
    item, token = sign("read")
    (tmp_path / "jwks.json").write_text(httpx.get(f"{service.url}/.well-known/jwks.json", trust_env=False).text)
    printed = filled(block("docs/guides/signed-decisions.md", "from pathlib"), service)
    printed = re.sub(r"cnt_\w{26}", item, printed) + 'print(claims["allowed"])'
    assert ran(sys.executable, "-c", f"token = {token!r}\n{printed}", cwd=tmp_path) == "True\n"


def test_a_signed_decision_is_verified_by_the_client(sign, service, tmp_path):
    printed = filled(block("docs/guides/clients.md", "from content_access_licensing.decisions"), service)
    item, token = sign("ai_training")
    given = f"item, token = {item!r}, {token!r}\n"
    assert ran(sys.executable, "-c", f"{given}{printed}print('allowed')", cwd=tmp_path) == "allowed\n"


def test_a_webhook_is_verified_by_the_client():
    secret, body, now = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", '{"type": "ping"}', datetime.now(UTC)
    signature = Webhook(secret).sign("evt_1", now, body)
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
    names = {"secret": secret, "body": body.encode(), "headers": headers}
    exec(block("docs/guides/clients.md", "from content_access_licensing import verify"), names)  # noqa: S102
    assert names["event"] == {"type": "ping"}


@pytest.mark.parametrize(
    ("path", "schema"), [("docs/reference/api.md", "AuditEntry"), ("docs/reference/reports.md", "Statement")]
)
def test_a_resource_that_is_shown_has_the_fields_that_it_has(path: str, schema: str):
    [text] = [one.text for one in blocks() if one.path == path and one.first.startswith('{"id"')]
    assert json.loads(text).keys() == openapi_document()["components"]["schemas"][schema]["properties"].keys()


def test_the_deprecations_that_are_shown_can_be_set():
    shown = block("docs/reference/versions.md", '[{"operation"')
    assert len(deprecations.parse(shown)) == 3

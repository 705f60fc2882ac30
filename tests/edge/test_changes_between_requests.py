"""Every answer follows a change that another process made before the request, refusals and 304s included.

Each request is sent to a process of its own that has answered it before, so no other request shows it the change. The
answer has to equal that of a process which has cached nothing.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from accounts.keys.services import revoke_api_key, update_api_key
from accounts.models import ApiKey
from accounts.plans.services import suspend_account, update_account
from analytics.wallets.models import Wallet
from analytics.wallets.services import add_grant
from licensing.clients.services import revoke_client
from licensing.content.services import delete_content, update_content
from licensing.edge.application import ForwardApplication
from licensing.licenses.services import revoke_license
from licensing.policies.models import Policy
from licensing.policies.services import update_policy
from licensing.sites.services import delete_site, update_site
from tests import factories
from tests.client import ApiClient, Reply
from tests.edge.asking import LICENSED, READERS
from tests.edge.conftest import forward, headers_of_visit
from tests.edge.tokens import ask_token
from tests.ways import GatewayClient, make_application

CHECK = "/v1/access/check"
PRICED = {
    "action": "allow",
    "priority": 1,
    "conditions": {"licenseType": ["commercial"]},
    "permissions": ["full_access"],
    "pricePerAccess": {"amount": "0.5", "currency": "EUR"},
}
LIMITED = {**READERS, "rateLimit": {"requests": 1, "period": "day"}}
HEADERS_TO_COMPARE = (
    "X-Access-Decision", "X-Access-Reason", "X-Access-Requester", "X-Access-Would", "X-Access-Status", "crawler-price",
    "crawler-error", "ETag",
)  # fmt: skip
FIELDS_TO_COMPARE = (
    "allowed", "reason", "contentId", "observed", "policyVersion", "license", "message", "title", "data",
)  # fmt: skip


class World:
    """An account with a site, items, licences and a wallet, and the requests about them."""

    def __init__(self, account, crawler_table) -> None:
        self.account, self.crawler_table = account, crawler_table
        self.set_crawler_addresses()
        paths = {
            "/open/*": (READERS,),
            "/premium/*": (LICENSED, factories.DENY_ALL),
            "/priced/*": (PRICED, factories.DENY_ALL),
            "/closed/*": (factories.DENY_ALL,),
            "/limited/*": (LIMITED,),
            "/crawlers/*": ({**READERS, "conditions": {"requesterId": "crawler:seeker"}, "permissions": ["search"]},),
        }
        policies = {path: factories.policy(account, *rules) for path, rules in paths.items()}
        self.site = factories.site(account, policies, host="pub.example", mode="enforce")
        self.edge_key, self.edge_text = factories.api_key(account, permissions=["access:check"])
        self.key, self.text = factories.api_key(account)
        self.bound_key, self.bound_text = factories.api_key(account, allowed_hosts=["other.example"])
        self.weak_key, self.weak_text = factories.api_key(account, permissions=["content:read"])
        self.visitor_key, self.visitor_text = factories.api_key(account, name="Reader")
        self.new_key, self.new_text = factories.api_key(account)
        ApiKey.objects.filter(pk=self.new_key.pk).delete()
        self.held = factories.license(account, per_access="0.05")
        self.client, secret = factories.license_client(account)
        self.token = ask_token(self.client, secret).json()["access_token"]
        factories.license(account, "org_payer", per_access="1")
        self.wallet = Wallet.objects.get(
            pk=factories.wallet(account, amount="0.5", requester_id="org_payer")["wallet"]
        )
        licensed = factories.policy(account, LICENSED, factories.DENY_ALL)
        self.item = factories.content(account, policy_id=licensed.pk, external_id="known")
        self.paid = factories.content(account, policy_id=licensed.pk, source="https://pub.example/premium/paid")
        self.unused = factories.content(account, policy_id=licensed.pk)  # a decision would change its `stats`
        self.small = factories.account(requests_per_minute=1, requests_per_day=1)
        self.small_text = factories.key_text(self.small)
        assert ApiClient(self.small_text).get("/v1/content").status == 200  # uses the limit up
        self.small_check = {"contentId": factories.content(self.small).pk, "requester": "org_acme"}

    def set_crawler_addresses(self, *addresses: str) -> None:
        self.crawler_table(
            {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker", "addresses": addresses}
        )

    def requests(self) -> dict[str, tuple[int, Callable[["Process"], Reply]]]:
        """Return the status of each request before any change, and how to send it."""
        known, unknown = {"externalId": "known"}, {"externalId": "new"}
        page = {"source": self.paid.source}
        acme, payer = {"requester": "org_acme"}, {"requester": "org_payer"}
        tag = ApiClient(self.text).get(f"/v1/content/{self.unused.pk}").headers["ETag"]
        return {
            "allowed check": (200, lambda to: to.check(self.text, {**known, **acme})),
            "denied check": (200, lambda to: to.check(self.text, {**known, "requester": "org_other"})),
            "check without credit": (200, lambda to: to.check(self.text, {**known, **payer})),
            "dry run": (200, lambda to: to.check(self.text, {**known, **acme, "dryRun": True})),
            "batch": (200, lambda to: to.check(self.text, {"checks": [known, unknown], **acme}, "/batch")),
            "malformed check": (400, lambda to: to.check(self.text, b"{")),
            "invalid check": (422, lambda to: to.check(self.text, {**known, "requester": 7})),
            "check with an invalid token": (401, lambda to: to.check(self.text, page, token="a.b.c")),
            "check with a token": (200, lambda to: to.check(self.text, page, token=self.token)),
            "check with an unknown key": (401, lambda to: to.check(self.new_text, {**known, **acme})),
            "check without permission": (403, lambda to: to.check(self.weak_text, {**known, **acme})),
            "check of an unknown item": (404, lambda to: to.check(self.text, {**unknown, **acme})),
            "check beyond the plan": (429, lambda to: to.check(self.small_text, self.small_check)),
            "open page": (200, lambda to: to.visit("/open/x")),
            "page with a token": (200, lambda to: to.visit("/premium/x", authorization=f"License {self.token}")),
            "page with a key": (
                402, lambda to: to.visit("/premium/x", authorization=f"Bearer {self.visitor_text}"),
            ),
            "invalid price": (400, lambda to: to.visit("/premium/x", crawler_max_price="many")),
            "invalid token": (401, lambda to: to.visit("/premium/x", authorization="License a.b.c")),
            "invalid token of a person": (
                401, lambda to: to.visit("/premium/x", authorization="License a.b.c", accept="text/html"),
            ),
            "invalid signature": (
                400,
                lambda to: to.visit(
                    "/premium/x", signature="sig=:AA==:", signature_agent='"https://a.example"',
                    signature_input="sig=invalid(",
                ),
            ),
            "page without a licence": (402, lambda to: to.visit("/premium/x")),
            "page with a price": (402, lambda to: to.visit("/priced/x")),
            "closed page": (403, lambda to: to.visit("/closed/x")),
            "page for crawlers": (
                403, lambda to: to.visit("/crawlers/x", user_agent="Seeker/1.0", x_forwarded_for="198.51.100.7"),
            ),
            "page of another host": (403, lambda to: to.visit("/open/x", self.bound_text)),
            "visit by an unknown edge": (401, lambda to: to.visit("/open/x", self.new_text)),
            "visit by an edge without permission": (403, lambda to: to.visit("/open/x", self.weak_text)),
            "robots.txt": (200, lambda to: to.visit("/robots.txt")),
            "limited page": (429, lambda to: to.visit("/limited/x")),
            "unchanged item": (
                304, lambda to: to.api(self.text).get(f"/v1/content/{self.unused.pk}", headers={"If-None-Match": tag}),
            ),
            "published terms": (200, lambda to: to.api(None).get("/license.xml", headers={"Host": "pub.example"})),
        }  # fmt: skip


class Process:
    """A process with caches of its own."""

    def __init__(self, world: World) -> None:
        self.world, self.application = world, make_application()
        self.forwards = ForwardApplication(self.application.gateway)

    def api(self, key: str | None) -> ApiClient:
        return GatewayClient(key, self.application)

    def check(self, key: str, body: object, path: str = "", token: str | None = None) -> Reply:
        headers = {"Authorization": f"License {token}", "X-Licensing-Key": key} if token else {}
        return self.api(key).post(CHECK + path, body, headers=headers)

    def visit(self, uri: str, key: str | None = None, **headers: str) -> Reply:
        sent = {**headers_of_visit(key or self.world.edge_text, uri), **headers}
        return forward(self.forwards, "/v1/access/forward", **sent)


def compared(reply: Reply) -> object:
    """Return the parts of an answer that do not depend on the time."""
    headers = {name: reply.headers[name] for name in HEADERS_TO_COMPARE if name in reply.headers}
    body = reply.body
    if body is None:
        page = b"" if reply.status == 200 else re.sub(rb"dec_\w+", b"", reply.content)
        return reply.status, headers, page
    if "error" in body:
        message = body["error"]["message"] if reply.status != 429 else ""  # of which one names seconds
        return reply.status, headers, body["error"]["code"], message
    return reply.status, headers, compared_fields(body)


def compared_fields(body: dict[str, Any]) -> dict[str, Any]:
    fields = {name: body[name] for name in FIELDS_TO_COMPARE if name in body}
    if "data" in fields:
        fields["data"] = [compared_fields(result) for result in fields["data"]]
    return fields


def set_mode(mode: str) -> Callable[[World], object]:
    return lambda world: update_site(world.site, {"mode": mode})


def open_all_pages(world: World) -> None:
    open_policy = factories.policy(world.account, READERS)
    update_site(world.site, {"rules": [{"pattern": "/*", "policy_id": open_policy.pk}]})


def set_policies(rule: dict[str, Any]) -> Callable[[World], object]:
    def change(world: World) -> None:
        for policy in Policy.objects.filter(account=world.account):
            update_policy(policy, {"rules": [rule]})

    return change


def create_key(world: World) -> None:
    world.new_key.save(force_insert=True)


def change_item(**fields: Any) -> Callable[[World], object]:
    def change(world: World) -> None:
        for item in (world.item, world.paid, world.unused):
            update_content(item, fields)

    return change


def create_items(world: World) -> None:
    open_policy = factories.policy(world.account, READERS)
    factories.content(world.account, policy_id=open_policy.pk, external_id="new")
    for path in ("premium", "priced", "closed", "limited", "crawlers"):
        factories.content(world.account, policy_id=open_policy.pk, source=f"https://pub.example/{path}/x")


def grant_permission(world: World) -> None:
    ApiKey.objects.filter(pk=world.weak_key.pk).update(permissions=["access:check"])
    update_api_key(ApiKey.objects.get(pk=world.weak_key.pk), {"name": "Renamed"})  # permissions have no service


# Each change with an answer that it changes.
CHANGES: dict[str, tuple[Callable[[World], object], str]] = {
    "the site observes": (set_mode("observe"), "invalid token"),
    "the site is disabled": (set_mode("disabled"), "invalid price"),
    "the site has another rule": (open_all_pages, "invalid signature"),
    "the site has another text": (
        lambda world: update_site(world.site, {"link_url": "https://pub.example/terms", "link_label": "Terms"}),
        "invalid token of a person",
    ),
    "the site is deleted": (lambda world: delete_site(world.site), "invalid token"),
    "the policies allow everybody": (set_policies(factories.ALLOW_ALL), "invalid token"),
    "the policies deny everybody": (set_policies(factories.DENY_ALL), "open page"),
    "the edge's key is revoked": (lambda world: revoke_api_key(world.edge_key), "invalid price"),
    "the caller's key is revoked": (lambda world: revoke_api_key(world.key), "malformed check"),
    "the visitor's key is revoked": (lambda world: revoke_api_key(world.visitor_key), "page with a key"),
    "a key is created": (create_key, "visit by an unknown edge"),
    "a key has another permission": (grant_permission, "visit by an edge without permission"),
    "a key is for another host": (
        lambda world: update_api_key(world.edge_key, {"allowed_hosts": ["other.example"]}),
        "robots.txt",
    ),
    "a key is for this host, too": (
        lambda world: update_api_key(world.bound_key, {"allowed_hosts": ["other.example", "pub.example"]}),
        "page of another host",
    ),
    "a key is for other addresses": (
        lambda world: update_api_key(world.key, {"allowed_ips": ["192.0.2.0/24"]}),
        "check with an invalid token",
    ),
    "the account is suspended": (lambda world: suspend_account(world.account), "invalid token"),
    "the plan has higher limits": (
        lambda world: update_account(world.small, {"requests_per_minute": 100, "requests_per_day": 100}),
        "check beyond the plan",
    ),
    "a licence is issued": (lambda world: factories.license(world.account, "org_other"), "denied check"),
    "a licence is revoked": (lambda world: revoke_license(world.held), "page with a token"),
    "a licence client is revoked": (lambda world: revoke_client(world.client), "page with a token"),
    "a wallet has credit": (
        lambda world: add_grant(world.wallet, {"amount": Decimal(10), "kind": "paid"}),
        "check without credit",
    ),
    "items are created": (create_items, "invalid token"),
    "an item is archived": (change_item(status="archived"), "allowed check"),
    "an item has another title": (change_item(title="Renamed"), "unchanged item"),
    "an item is deleted": (lambda world: delete_content(world.item), "dry run"),
    "the crawler has an address": (lambda world: world.set_crawler_addresses("198.51.100.0/24"), "page for crawlers"),
}


@pytest.fixture
def world(account, crawler_table, settings):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    return World(account, crawler_table)


@pytest.mark.usefixtures("application")
@pytest.mark.parametrize(("change", "changed"), CHANGES.values(), ids=CHANGES)
def test_every_answer_follows_a_change_by_another_process(world, change, changed):
    assert Process(world).visit("/limited/x").status == 200  # uses the rule's limit up
    requests = world.requests()
    processes, before = {}, {}
    for name, (_, send) in requests.items():
        process = processes[name] = Process(world)
        process.visit("/premium/x")
        before[name] = send(process)
    assert {name: reply.status for name, reply in before.items()} == {
        name: status for name, (status, _) in requests.items()
    }

    change(world)

    after = {name: compared(send(processes[name])) for name, (_, send) in requests.items()}
    fresh = {name: compared(send(Process(world))) for name, (_, send) in requests.items()}
    assert after == fresh
    assert after[changed] != compared(before[changed])

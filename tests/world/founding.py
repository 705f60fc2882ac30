"""The first morning: the publisher's setup by commands and API."""

from datetime import timedelta
from functools import partial
from typing import Any

from tests.world import publisher
from tests.world.actors import catalogue, nightly, sales
from tests.world.caller import Reply
from tests.world.world import World

LIMITS = ("--requests-per-minute", "100000", "--requests-per-day", "1000000")
KEYS = {"office": ["*"], "web": ["access:check", "content:read", "analytics:read"], "edge": ["access:check"]}


def found(world: World) -> None:
    create_account(world)
    create_policies(world)
    rows = [{**publisher.item_body(n), "policy": publisher.item_policy(n)} for n in range(publisher.ITEMS)]
    catalogue.upsert(world, rows)
    create_sites(world)
    create_webhooks(world)
    sell(world)
    today = world.clock.now().date()
    nightly.import_rates(world, [today - timedelta(days=back) for back in range(10, -1, -1)])
    world.machines.start_proxy(world.keys["edge"])


def create_account(world: World) -> None:
    zone = ("--time-zone", publisher.ZONE.key)
    made, _ = world.run(
        "create_account", "The Publisher", "--plan", "enterprise", "--visitor-addresses", "full", *LIMITS, *zone
    )
    world.account = made["id"]
    world.diary.deed("account.created", world.account, "command")
    for name, permissions in KEYS.items():
        granted = [part for permission in permissions for part in ("--permission", permission)]
        key, _ = world.run("create_api_key", "--account", world.account, "--name", name, "--type", "secret", *granted)
        world.keys[name], world.key_ids[name] = key["key"], key["id"]
        world.diary.deed("api_key.created", key["id"], "command")
    world.operator, _ = world.run("create_operator", "anna", "--superuser")


def create(world: World, path: str, body: dict[str, Any], action: str) -> tuple[Any, Reply]:
    """Create a resource; return it as the API shows it, and the reply."""
    reply = world.act("POST", path, body)
    world.diary.deed(action, reply.body["id"])
    return reply.body, reply


def create_policies(world: World) -> None:
    small = {publisher.small_policy(n): {"rules": [publisher.READERS]} for n in range(publisher.SMALL_POLICIES)}
    for name, body in {**publisher.POLICIES, **small}.items():
        made, reply = create(world, "/v1/policies", {"name": name, **body}, "policy.created")
        world.ids[name] = made["id"]
        world.diary.policies[name].write(reply, id=made["id"], name=name, version=1, **body)


def create_sites(world: World) -> None:
    """Create the publisher's site and many parked ones."""
    rules = [{"pattern": p, "policyId": world.ids[name] if name else None} for p, name in publisher.PATTERNS.items()]
    body = {"host": publisher.HOST, "mode": "observe", "rules": rules}
    parked = [{"host": f"parked-{n:03}.example", "mode": "disabled"} for n in range(publisher.PARKED_SITES)]
    for site in [body, *parked]:
        made, reply = create(world, "/v1/sites", site, "site.created")
        world.ids[site["host"]] = made["id"]
        state = {"id": made["id"], "mode": site["mode"], "patterns": dict(publisher.PATTERNS)}
        world.diary.sites[site["host"]].write(reply, **state)


def create_webhooks(world: World) -> None:
    """Create an endpoint for all events, and one for licences, money and denials."""
    first, second = world.machines.receivers
    for receiver, events in ((first, ["*"]), (second, ["license.*", "revenue.adjusted", "access.denied"])):
        body = {"url": receiver.url, "events": events}
        made, _ = create(world, "/v1/webhooks", body, "webhook_endpoint.created")
        world.webhooks.append(made)


def sell(world: World) -> None:
    """Issue the licences that customers have at the start of the month."""
    issue = partial(sales.issue, world)
    today = world.clock.now()
    items = [world.ids[publisher.external_id(n)] for n in (1, 10, 28)]
    issue("org_acme", "commercial", requesterName="Acme", price=("1200.00", "EUR"))
    issue("org_globex", "commercial", requesterName="Globex", pricePerAccess=("0.05", "USD"))
    lapses = (today + timedelta(days=14)).isoformat()
    issue("org_initech", "enterprise", tags=["reports"], expiresAt=lapses, price=("300", "USD"))
    issue("org_umbrella", "commercial", contentIds=items, pricePerAccess=("0.010001", "EUR"))
    begins = (today + timedelta(days=10)).isoformat()
    issue("org_hooli", "commercial", startsAt=begins, price=("99.99", "EUR"))
    policies = ["premium", "metered"]
    shown = issue("org_vandelay", "commercial", policies=policies, pricePerAccess=("0.03", "EUR"))
    client, _ = create(world, "/v1/license-clients", {"requesterId": "org_vandelay"}, "license_client.created")
    world.clients["org_vandelay"] = {"id": client["id"], "secret": client["secret"], "license": shown}
    issue("org_wonka", "commercial", requesterName="Wonka", fee=("19.000001", "EUR", "month"))
    issue("org_oscorp", "commercial", fee=("300", "JPY", "quarter"))
    issue("crawler:gptbot", "ai", pricePerAccess=("0.002", "USD"))
    issue("org_piper", "payg", pricePerAccess=("0.02", "USD"))
    issue("org_piper", "commercial", price=("10", "JPY"), policies=["limited"])
    issue("org_tanaka", "commercial", requesterName="田中商店", price=("120000", "JPY"), pricePerAccess=("15", "JPY"))
    terms = {"price": ("5.00", "EUR"), "tags": ["news"]}
    sales.issue_many(world, [(publisher.subscriber(n), "newsletter", terms) for n in range(publisher.SUBSCRIBERS)])

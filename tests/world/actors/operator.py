"""The operator Anna in the admin: signs in, opens pages, submits forms, and confirms."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import httpx

from tests.admin.forms import as_sent, form_values
from tests.world.actors import catalogue, sales
from tests.world.caller import Reply
from tests.world.diary import moment
from tests.world.publisher import HOST
from tests.world.world import World


class Desk:
    """Anna's browser, signed in. Pages are those under /admin/."""

    def __init__(self, world: World) -> None:
        self.world, self.clock = world, world.clock
        self.browser = httpx.Client(base_url=world.service.url, timeout=60, follow_redirects=True)
        login = {"username": world.operator["username"], "password": world.operator["password"]}
        page = self.send("login/?next=/admin/", login)
        assert page.url.path == "/admin/", page.text[:3000]

    def open(self, page: str) -> httpx.Response:
        reply = self.browser.get(f"/admin/{page}")
        assert reply.status_code == 200, (page, reply.status_code)
        return reply

    def send(self, page: str, fields: Mapping[str, Any]) -> httpx.Response:
        """Open a page, fill in its form and submit it."""
        return self.press(self.open(page), {"_save": "Save", **fields})

    def press(self, page: httpx.Response, fields: Mapping[str, Any]) -> httpx.Response:
        """Submit the form of an open page with these fields changed."""
        reply = self.browser.post(page.url, data=as_sent({**form_values(page.text), **fields}))
        assert reply.status_code == 200, (page.url, reply.status_code)
        return reply

    def do(self, page: str, fields: Mapping[str, Any] | None = None) -> Reply:
        """Submit a form and confirm it if asked; the reply has the times of start and end."""
        begun = self.clock.timestamp()
        reply = self.send(page, fields or {})
        if form_values(reply.text).get("confirmed") == ["1"]:
            reply = self.press(reply, {"_save": "1"})
        return Reply(begun, self.clock.timestamp(), reply.status_code, {"location": reply.url.path}, reply.content)


def enforce_site(world: World, desk: Desk) -> None:
    """Switch the site from observe to enforce."""
    site = world.ids[HOST]
    reply = desk.do(f"licensing/site/{site}/enforce/")
    world.diary.sites[HOST].write(reply, mode="enforce")
    world.diary.deed("site.updated", site, "operator")
    world.diary.promise("the operator", "the site is enforced", "enforce", world.get(f"/v1/sites/{site}")["mode"])


def issue_license(world: World, desk: Desk, requester: str, kind: str, **fields: str) -> None:
    """Issue a licence by form, with amounts as Anna types them."""
    known = {row["id"] for row in world.get("/v1/licenses", requesterId=requester)["data"]}
    given = {"account": world.account, "requester_own_id": requester, "license_type": kind, **fields}
    reply = desk.do("licensing/license/add/", given)
    rows = world.get("/v1/licenses", requesterId=requester)["data"]
    [made] = [row for row in rows if row["id"] not in known] or [None]
    assert made, reply.content.decode()
    sales.note(world, made, reply, "operator")


def type_a_name(world: World, desk: Desk) -> None:
    """Type a customer's name into the id field, twice; the form names the id and creates nobody."""
    fields = {"account": world.account, "requester_own_id": "Acme", "license_type": "commercial"}
    for _ in range(2):
        page = desk.do("licensing/license/add/", fields).content.decode()
        made = world.get("/v1/licenses", requesterId="Acme")["totalCount"]
        found = ("Enter the customer&#x27;s id, org_acme" in page, made)
        world.diary.promise("the operator", "a name is not taken for a new customer's id", (True, 0), found)


def revoke_license(world: World, desk: Desk, id_: str) -> None:
    reply = desk.do(f"licensing/license/{id_}/revoke/")
    shown = world.get(f"/v1/licenses/{id_}")
    world.diary.promise("the operator", "a licence is revoked", "revoked", shown["status"])
    world.diary.licenses[id_].write(reply, revokedAt=moment(shown["revokedAt"]))
    world.diary.deed("license.revoked", id_, "operator")


def archive_item(world: World, desk: Desk, name: str) -> None:
    reply = desk.do(f"licensing/content/{world.ids[name]}/change/", {"status": "archived"})
    catalogue.note(world, {"externalId": name, "status": "archived"}, world.ids[name], reply, "operator")


def refund_in_parts(world: World, desk: Desk, license_id: str) -> None:
    """Refund parts of a licence's price by button. The second exceeds what is left, which the form names."""
    refund(world, desk, license_id, "800.00")
    page = desk.do(f"licensing/license/{license_id}/refund/", {"amount": "800.00"}).content.decode()
    world.diary.promise("the operator", "no more is refunded than was paid", True, "400.00" in page)
    refund(world, desk, license_id, "400.00")


def refund(world: World, desk: Desk, license_id: str, amount: str) -> None:
    """Refund a part of a licence's price by button."""
    before = adjustments(world)
    reply = desk.do(f"licensing/license/{license_id}/refund/", {"amount": amount})
    booked = [row for id_, row in adjustments(world).items() if id_ not in before]
    assert len(booked) == 1, reply.content.decode()
    sales.note_adjustment(world, booked[0], reply, -Decimal(amount), "operator")


def adjustments(world: World) -> dict[str, Any]:
    return {row["id"]: row for row in world.get("/v1/revenue", type="adjustment", limit=100)["data"]}


def replay(world: World, desk: Desk, webhook: Mapping[str, Any]) -> str:
    """Press *Replay what failed*, and return the page that follows."""
    reply = desk.do(f"accounts/webhookendpoint/{webhook['id']}/replay/")
    world.diary.deed("webhook_endpoint.recovered", webhook["id"], "operator")
    return reply.content.decode()

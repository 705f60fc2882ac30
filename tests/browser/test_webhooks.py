"""An operator creates a webhook endpoint and sends missed events again."""

import json
import re

from tests.browser.conftest import choose, serious_problems
from tests.faults.harness import eventually
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, bodies


def act(page, link, button):
    page.get_by_role("link", name=link).click()
    page.get_by_role("button", name=button).click()
    page.get_by_text("The ping was sent.").wait_for()


def reload_until(page, text):
    """Reload the page until it shows the worker's result."""

    def is_shown():
        page.reload()
        return page.get_by_text(text).count()

    assert eventually(is_shown), page.content()


def test_an_operator_makes_an_endpoint_pings_it_sees_a_failure_and_replays_it(admin, deployment, account):
    is_broken = True

    def reply(connection, request):
        connection.sendall(answering(500, body=b"out of order") if is_broken else answering(200))

    with receiver(reply) as there:
        admin.goto("/admin/accounts/webhookendpoint/add/")
        choose(admin, "account", account.name)
        admin.get_by_label("URL").fill(f"http://127.0.0.1:{there.port}/")
        admin.get_by_label("Events").fill("content.*")
        admin.get_by_role("button", name="Save", exact=True).click()
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", admin.locator("#key-text").inner_text())
        assert serious_problems(admin) == []
        admin.get_by_role("link", name="I have copied it").click()

        act(admin, "Ping", "Ping it")
        reload_until(admin, "failed: 500")
        assert admin.get_by_text("out of order").count()
        with deployment.client(account.key) as api:
            item = api.post("/v1/content", json={"title": "Told later"}).json()["id"]
        assert eventually(lambda: len(there.requests) == 2)
        reload_until(admin, "content.created")
        assert serious_problems(admin) == []

        is_broken = False
        admin.get_by_role("link", name="Replay what failed").click()
        admin.get_by_role("button", name="Send 1 event").click()
        admin.get_by_text("Sending 1 event again.").wait_for()
        reload_until(admin, "delivered (200)")
        sent = bodies(there.requests)
        assert [body["type"] for body in sent] == ["ping", "content.created", "content.created"]
        assert sent[1]["id"] == sent[2]["id"]
        assert json.dumps(item) in json.dumps(sent[2]["data"])

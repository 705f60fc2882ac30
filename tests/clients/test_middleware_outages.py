"""Middleware of both clients while the service is down or refuses the key: open pages, refusals and log lines."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from content_access_licensing import Client, paywall

from licensing.edge.original import FREE_FOLDERS, FREE_PATHS
from tests.clients.sites import WAYS, Answer, Visit, compiled
from tests.documentation.running import ran
from tests.openapi.node import needs_node
from tests.served import Service
from tests.services import free_port

FREE = [
    *sorted(FREE_PATHS), *(f"{folder}a-b/c.xml" for folder in FREE_FOLDERS),
    "/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap-posts-post-1.xml", "/post-sitemap.xml",
]  # fmt: skip
OTHERS = ("/robots.txt/", "/a/robots.txt", "/robots.txt;/a", "/.well-known/../a", "/.well-known/.a", "/sitemap/a.xml")


def test_the_free_paths_stay_open_while_the_service_is_down(way: Callable[..., Answer]):
    answer = way({"url": f"http://127.0.0.1:{free_port()}", "key": "svc_sk_x", "fail_open": False})
    free = FREE if way not in (WAYS["TypeScript"], WAYS["Express"]) else ("/robots.txt", "/.well-known/security.txt")
    for path in free:
        assert answer(Visit(path)).is_page, path
    for path in OTHERS[:3]:
        assert answer(Visit(path)).status == 503, path


def test_only_plain_spellings_of_the_free_paths_stay_open():
    for path in FREE:
        assert paywall.is_free(path), path
        assert paywall.is_free(path.encode()), path
    for path in (*OTHERS, "/robots.txt\n", "robots.txt", "//robots.txt"):
        assert not paywall.is_free(path), path


@needs_node
def test_both_clients_have_the_same_free_paths():
    imported = f"import {{ isFree }} from 'file://{compiled()}/middleware.js';"
    script = f"{imported} console.log(JSON.stringify({json.dumps([*FREE, *OTHERS])}.map(isFree)))"
    assert json.loads(ran("node", "--input-type=module", "-e", script, cwd=compiled())) == [
        *[True] * len(FREE), *[False] * len(OTHERS),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["WSGI", "Django"])  # the others begin anew with each visit here
def test_each_reason_is_logged_once_a_minute(name, service: Service, client: Client, settings, caplog, monkeypatch):
    settings.ALLOWED_HOSTS = ["*"]
    fields: Any = {"type": "secret", "permissions": ["access:check"], "allowedHosts": ["other.example"]}
    elsewhere = client.create_api_key({"name": "Elsewhere", **fields})["key"]
    cases = (
        (f"http://127.0.0.1:{free_port()}", "svc_sk_x", "cannot be reached"),
        (service.url, "svc_sk_x", "refused the site's request: 503"),
        (service.url, elsewhere, "The key is not for pub.example"),
        (f"{service.url}/v1", "svc_sk_x", "without /v1? 404"),
    )
    now = paywall.monotonic()
    for url, key, reason in cases:
        caplog.clear()
        monkeypatch.setattr(paywall, "monotonic", lambda: now)
        answer = WAYS[name]({"url": url, "key": key, "fail_open": True})
        for _ in range(3):
            answer(Visit("/premium/a"))
        assert [reason in record.getMessage() for record in caplog.records if "licensing" in record.name] == [True]
        monkeypatch.setattr(paywall, "monotonic", lambda: now + 60)
        answer(Visit("/premium/a"))
        assert caplog.text.count(reason) == 2


LOGGED = """
const { gate } = await import("file://" + process.argv[1] + "/middleware.js");
let now = 0;
Date.now = () => now;
const lines = [];
const refusal = { error: { type: "authentication_error", code: "invalid_api_key" } };
const elsewhere = { "x-access-decision": "deny", "x-access-reason": "host_not_allowed" };
const answers = {
  down: () => { throw new TypeError("fetch failed"); },
  refused: () => new Response(JSON.stringify(refusal), { status: 503 }),
  elsewhere: () => new Response("{}", { status: 403, headers: elsewhere }),
  other: () => new Response("Not found", { status: 404 }),
};
for (const [name, fetch] of Object.entries(answers)) {
  const log = (line) => lines.push(line);
  const visit = gate({ url: "http://a.example", key: "svc_sk_x", failOpen: true, address: () => null, fetch, log });
  for (const later of [0, 0, 59_000, 2_000]) {
    now += later;
    await visit(new Request("https://pub.example/a"));
  }
}
console.log(JSON.stringify(lines));
"""


@needs_node
def test_the_typescript_client_logs_each_reason_once_a_minute():
    lines = json.loads(ran("node", "--input-type=module", "-e", LOGGED, compiled(), cwd=compiled()))
    reasons = (
        "cannot be reached",
        "refused the site's request: 503",
        "The key is not for pub.example",
        "without /v1? 404",
    )
    assert len(lines) == 8
    for number, reason in enumerate(reasons):
        assert all(reason in line for line in lines[2 * number : 2 * number + 2])

"""The attacks of benchmarks.attacks that are cheap to send and make the service compute, 20 requests a second."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from threading import Event
from typing import Any

import httpx

from benchmarks.attacking import BATCH, RULES, Target, csrf_token, named, signed_in
from benchmarks.harness import due_moments
from licensing.sites.patterns import MAX_CHARACTERS, MAX_WILDCARDS

RATE = 20  # requests a second
CLIENTS = 40  # that wait for replies at a time
HOST = "attacker.example"
MAX_RULES = 200  # of a site, as licensing.sites.serializers says; that module needs Django's settings
PATTERN = MAX_CHARACTERS // MAX_RULES - 6  # characters
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def at_a_rate(until: float, send: Callable[[int], httpx.Response]) -> None:
    """Print the reply to a first request, and then send at RATE, whether or not earlier requests are answered."""
    reply = send(0)
    print(f"  first reply: {reply.status_code} {reply.text[:80]!r}", flush=True)
    with ThreadPoolExecutor(CLIENTS) as executor:
        for number, _ in enumerate(due_moments(RATE, Event()), 1):
            if time.monotonic() >= until:
                return
            executor.submit(quietly, send, number)


def quietly(send: Callable[[int], httpx.Response], number: int) -> None:
    with suppress(httpx.TransportError):
        send(number)


@contextmanager
def own_client(target: Target) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=CLIENTS)
    with httpx.Client(base_url=target.url, headers=target.headers, timeout=30, limits=limits) as client:
        yield client


def create_hostile_site(client: httpx.Client, policy: str) -> str:
    """Create a site with the most overlapping patterns of the most wildcards. Return its id."""
    wildcards = "/" + "*a" * (MAX_WILDCARDS - 1) + "*"
    patterns = [f"{wildcards}{number:03}".ljust(PATTERN, "a") for number in range(MAX_RULES)]
    rules = [{"pattern": pattern, "policyId": policy} for pattern in patterns]
    reply = client.post("/v1/sites", json={"host": HOST, "mode": "enforce", "rules": rules})
    if reply.status_code == httpx.codes.CONFLICT:
        [site] = client.get("/v1/sites").json()["data"]
        return site["id"]
    return reply.raise_for_status().json()["id"]


def visit(client: httpx.Client, target: Target, path: str) -> httpx.Response:
    headers = {"X-Licensing-Key": target.key, "X-Licensing-Method": "GET", "X-Licensing-Url": f"https://{HOST}{path}"}
    return client.get("/v1/access/middleware", headers=headers)


@named("terms-documents")
def terms_documents(target: Target, until: float) -> None:
    """Request the documents of a site with 200 overlapping patterns, which changes once a second."""
    with own_client(target) as client:
        site = create_hostile_site(client, target.policy)
        paths = ("/license.xml", "/robots.txt", "/.well-known/tdmrep.json")

        def send(number: int) -> httpx.Response:
            if number % RATE == 0:
                client.patch(f"/v1/sites/{site}", json={"name": f"Site {number}"})
            return client.get(paths[number % len(paths)], headers={"Host": HOST})

        at_a_rate(until, send)


@named("wildcards")
def wildcards(target: Target, until: float) -> None:
    """Visit pages of such a site by URLs with many readings."""
    with own_client(target) as client:
        create_hostile_site(client, target.policy)
        long = "a" * 1_500
        at_a_rate(until, lambda n: visit(client, target, f"/{long}{n};x/..;/b/%252e%252e/%2561;y"))


@named("escaped-queries")
def escaped_queries(target: Target, until: float) -> None:
    """Visit pages whose query is 2,600 escaped brackets."""
    with own_client(target) as client:
        create_hostile_site(client, target.policy)
        brackets = "%5B" * 2_600
        at_a_rate(until, lambda n: visit(client, target, f"/premium/p{n}?utm=a%20b{brackets}"))


@named("schedules")
def schedules(target: Target, until: float) -> None:
    """Send batches under a policy of 100 schedules."""
    rules = [
        {"action": "deny", "priority": number + 1, "conditions": {"schedule": schedule(number)}}
        for number in range(RULES - 1)
    ]
    rules.append({"action": "allow", "priority": 1000, "conditions": {"default": True}})
    with own_client(target) as client:
        policy = client.post("/v1/policies", json={"name": "Hours", "rules": rules}).raise_for_status().json()["id"]
        item = client.post("/v1/content", json={"title": "Hours", "policyId": policy}).json()["id"]
        body = {"contentId": item, "requester": "org", "checks": [{}] * BATCH}
        at_a_rate(until, lambda n: client.post("/v1/access/check/batch", json=body))


def schedule(number: int) -> dict[str, Any]:
    hour, minute = number % 24, number % 50
    return {"days": DAYS, "from": f"{hour:02}:{minute:02}", "to": f"{hour:02}:59", "timeZone": "America/St_Johns"}


@named("lint")
def lint(target: Target, until: float) -> None:
    """Lint 100 rules of 500 values."""
    body = {"rules": target.rules()}
    with own_client(target) as client:
        at_a_rate(until, lambda n: client.post("/v1/policies/lint", json=body))


@named("pasted-attributes")
def pasted_attributes(target: Target, until: float) -> None:
    """Paste 50,000 spaces into *Check access* as an operator."""
    path = "/admin/check-access/"
    with closing(signed_in(target)) as client:
        token = csrf_token(client, path)
        form = {"csrfmiddlewaretoken": token, "item": target.item, "requester": "org", "attributes": " " * 50_000}
        at_a_rate(until, lambda n: client.post(path, data=form))


@named("log-lines")
def log_lines(target: Target, until: float) -> None:
    """Upload logs with lines of 45 KB of brackets and quotes."""
    line = b"203.0.113.9 - x " + b"[" * 22_000 + b'"' * 22_000 + b"\n"
    with own_client(target) as client:
        site = create_hostile_site(client, target.policy)
    path = f"/admin/licensing/site/{site}/import-log/"
    with closing(signed_in(target)) as client:
        token = csrf_token(client, path)
        form = {"csrfmiddlewaretoken": token, "account": target.account}
        at_a_rate(until, lambda n: client.post(path, data=form, files={"file": ("access.log", line * 100)}))

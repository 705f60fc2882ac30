"""Checks during attacks by clients without a key, whose headers are long and expensive to parse.

    python -m benchmarks.strangers [--sqlite] [--seconds 10] [--clients 4] [--size 57344] [--only NAME …] [--readme]

A customer checks at a steady rate: first alone, then during each attack. The attacks run in a separate process: each
client repeats one request, sending the next as soon as the last is answered. `ordinary` is the same flood with short
headers, so what an attack adds to it is the cost of its headers.
"""

import multiprocessing
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Thread
from typing import Any

import httpx

from benchmarks.attacks import SETTLE_SECONDS, Kind
from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, installed
from benchmarks.report import parser, publish

RATE = 50  # checks a second
CHECK, FORWARD = "POST /v1/access/check", "GET /v1/access/forward"
SIGNED = "Signature: sig1=:YQ==:"


def request(line: str, *headers: str) -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", "Content-Length: 0", *headers, "", ""]
    return "\r\n".join(lines).encode()


def visitor(key: str, *headers: str) -> bytes:
    """A visitor's request as the site's proxy forwards it."""
    own = f"X-Licensing-Key: {key}", "X-Forwarded-Host: pub.example", "X-Forwarded-Uri: /a", "X-Forwarded-Proto: https"
    return request(FORWARD, *own, *headers)


def repeated(text: str, size: int) -> str:
    return (text * size)[:size]


def attacks(key: str, size: int) -> dict[str, bytes]:
    """Return the request of each attack, with a header of `size` bytes."""
    return {
        "ordinary": request(CHECK, "Accept: application/json"),
        "accept": request(CHECK, f"Accept: application/problem+json,{repeated('a/b;q=1,', size)}"),
        "accept-list": request("GET /v1/content", f"Accept: application/problem+json,{repeated('a/b;q=1,', size)}"),
        "query": request(f"GET /v1/content?{repeated('a=&', size)}"),
        "escapes": request(f"GET /{repeated('%41', size)}"),
        "forwarded-for": request(CHECK, f"X-Forwarded-For: {repeated('127.0.0.1,', size)}"),
        "cookie": request("GET /admin/login/", f'Cookie: a="{repeated(chr(92), min(size, 30_000))}"'),
        "visitor": visitor(key),
        "signature-agent": visitor(
            key,
            f'Signature-Agent: sig1="https://a.example", {repeated("a,", size)}',
            'Signature-Input: sig1=("@authority");tag="web-bot-auth"',
            SIGNED,
        ),
        "signature-input": visitor(
            key,
            'Signature-Agent: sig1="https://a.example"',
            f'Signature-Input: sig1=("@authority");tag="web-bot-auth", {repeated("a,", size)}',
            SIGNED,
        ),
    }


def attack(port: int, sent: bytes, clients: int, until: float, begun: Any) -> None:
    def client() -> None:
        while time.time() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                while time.time() < until:
                    connection.sendall(sent)
                    if b"connection: close" in (reply := connection.recv(65_536)).lower() or not reply:
                        break

    threads = [Thread(target=client, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    begun.set()
    for thread in threads:
        thread.join()


@dataclass(frozen=True)
class Result:
    attack: str
    p50: float  # milliseconds
    p99: float
    errors: int


def measured(name: str, url: str, headers: dict[str, str], item: str, given: Any, sent: bytes | None) -> Result:
    processes = multiprocessing.get_context("spawn")
    begun = processes.Event()
    until = time.time() + 3 * given.seconds
    port = int(url.rpartition(":")[2])
    attacker = processes.Process(target=attack, args=(port, sent, given.clients, until, begun), daemon=True)
    body = {"contentId": item, "requester": LICENSED}
    checks = Kind("checks", RATE, lambda client: client.post("/v1/access/check", json=body))
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        checks.send(client)
        if sent is not None:
            attacker.start()
            begun.wait()
            time.sleep(SETTLE_SECONDS)
        checks.run(client, time.perf_counter(), given.seconds)
    if sent is not None:
        attacker.kill()
        attacker.join()
    return Result(name, checks.percentile(50), checks.percentile(99), checks.errors)


def table(results: list[Result]) -> str:
    rows = [["beside", "checks p50, ms", "checks p99, ms", "errors"], ["---", *["---:"] * 3]]
    rows += [[one.attack, f"{one.p50:,.1f}", f"{one.p99:,.1f}", str(one.errors)] for one in results]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--sqlite", action="store_true")
    options.add_argument("--clients", type=int, default=4)
    options.add_argument("--size", type=int, default=56 * 1024, help="bytes of the long header")
    options.add_argument("--only", nargs="+", choices=attacks("", 0), default=list(attacks("", 0)), metavar="NAME")
    options.set_defaults(seconds=10)
    given = options.parse_args()
    results: list[Result] = []
    with workplace(storage=not given.sqlite) as (stack, directory, services):
        made: Any = installed(stack, "strangers", directory, services, TRUSTED_PROXIES="127.0.0.1", CRAWLER_DNS="off")
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        made.expect_decisions(item, LICENSED, {"id": "org_other"})
        key = made.headers["Authorization"].removeprefix("Bearer ")
        sent = attacks(key, given.size)
        for name in ("none", *given.only):
            results.append(measured(name, made.url, made.headers, item, given, sent.get(name)))
            print(results[-1], flush=True)
        expect(not sum(one.errors for one in results), f"checks failed: {results}")
    place = "strangers --sqlite" if given.sqlite else "strangers"
    publish(place, table(results), {one.attack: asdict(one) for one in results}, given)


if __name__ == "__main__":
    main()

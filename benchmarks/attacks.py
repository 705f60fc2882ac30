"""One account's checks, lists and probes during each attack by another.

    python -m benchmarks.attacks [--sqlite] [--seconds 10] [--only NAME …] [--decisions 100000] [--readme]

A victim sends requests at a steady, modest rate: first alone, then during one attack after the other. Each attacker is
an account or an unauthenticated client in its own process. Prints the victim's times and errors, and the growth of the
service's memory.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from statistics import quantiles
from threading import Event, Thread
from typing import Any

import httpx
import psutil

import benchmarks.attacking_at_a_rate  # noqa: F401 - registers its attacks
from benchmarks.attacking import ATTACKS, BATCH, Target
from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, Installation, installed
from benchmarks.report import markdown, parser, publish

SETTLE_SECONDS = 2
SAMPLES_A_SECOND = 5  # of memory
WORST_P99_MS, WORST_GROWTH_MIB = 500, 100


@dataclass
class Kind:
    """Requests of one kind, `rate` per second. Times count from when a request was due."""

    name: str
    rate: float
    send: Callable[[httpx.Client], httpx.Response]
    milliseconds: list[float] = field(default_factory=list)
    errors: int = 0

    def run(self, client: httpx.Client, began: float, seconds: float) -> None:
        for number in range(int(seconds * self.rate)):
            due = began + number / self.rate
            time.sleep(max(0, due - time.perf_counter()))
            if time.perf_counter() > began + 3 * seconds:  # replies still missing would have taken even longer
                self.milliseconds.append((time.perf_counter() - due) * 1000)
                self.errors += 1
                continue
            try:
                self.errors += self.send(client).status_code != 200
            except httpx.TransportError:
                self.errors += 1
            self.milliseconds.append((time.perf_counter() - due) * 1000)

    def percentile(self, rank: int) -> float:
        return quantiles(self.milliseconds, n=100, method="inclusive")[rank - 1]


@dataclass(frozen=True)
class Result:
    attack: str
    times: dict[str, tuple[float, float]]  # p50 and p99 in milliseconds, by kind
    errors: int
    growth: float  # MiB

    @property
    def holds(self) -> bool:
        worst = max(p99 for _, p99 in self.times.values())
        return worst < WORST_P99_MS and self.growth < WORST_GROWTH_MIB and not self.errors


def kinds_for(item: str) -> list[Kind]:
    check = {"contentId": item, "requester": LICENSED}
    return [
        Kind("checks", 20, lambda client: client.post("/v1/access/check", json=check)),
        Kind("lists", 5, lambda client: client.get("/v1/content?limit=20")),
        Kind("livez", 5, lambda client: client.get("/livez")),
    ]


class Memory:
    """The peak resident memory of the service's processes within the block, in MiB above the initial value."""

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)
        self.first = self.most = self.now()
        self.done = Event()
        self.thread = Thread(target=self.watch)
        self.thread.start()

    def now(self) -> float:
        total = 0
        for process in (self.process, *self.process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total / 2**20

    def watch(self) -> None:
        while not self.done.wait(1 / SAMPLES_A_SECOND):
            self.most = max(self.most, self.now())

    def growth(self) -> float:
        self.done.set()
        self.thread.join()
        return max(self.most, self.now()) - self.first


def attack(name: str, target: Target, seconds: float, begun: Any) -> None:
    """Run an attack with a time limit in its own process. Sets the event `begun`."""
    begun.set()
    ATTACKS[name](target, time.monotonic() + seconds)


def measured(name: str, made: Installation, item: str, target: Target, seconds: float) -> Result:
    """Return the victim's figures during the attack; an empty name means no attack."""
    processes = multiprocessing.get_context("spawn")
    begun = processes.Event()
    attacker = processes.Process(target=attack, args=(name, target, 3 * seconds, begun), daemon=True)
    kinds = kinds_for(item)
    with ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client(base_url=made.url, headers=made.headers)) for _ in kinds]
        for kind, client in zip(kinds, clients, strict=True):
            client.timeout = httpx.Timeout(60)
            kind.send(client)
        memory = Memory(made.server.pid)
        if name:
            attacker.start()
            begun.wait()
            time.sleep(SETTLE_SECONDS)
        now = time.perf_counter()
        victims = [
            Thread(target=kind.run, args=(client, now, seconds)) for kind, client in zip(kinds, clients, strict=True)
        ]
        for victim in victims:
            victim.start()
        for victim in victims:
            victim.join()
        growth = memory.growth()
    if name:
        attacker.kill()
        attacker.join()
    times = {kind.name: (kind.percentile(50), kind.percentile(99)) for kind in kinds}
    return Result(name or "none", times, sum(kind.errors for kind in kinds), growth)


def attackers_account(made: Installation, decisions: int) -> Target:
    """Create an account with a largest policy, and as many recorded decisions as a simulation replays."""
    account, key = made.account_with_key("Attacker")
    operator = made.made("create_operator", "attacker", "--superuser")
    target = Target(made.url, account, key, username="attacker", password=operator["password"])
    with httpx.Client(base_url=made.url, headers=target.headers, timeout=60) as client:
        policy = client.post("/v1/policies", json={"name": "Large", "rules": target.rules()})
        expect(policy.status_code == 201, f"the policy is answered {policy.status_code}: {policy.text[:300]}")
        target.policy = policy.json()["id"]
        item = client.post("/v1/content", json={"title": "Item", "policyId": target.policy})
        target.item = item.json()["id"]
        body = {"contentId": target.item, "requester": LICENSED, "checks": [{}] * BATCH}
        for _ in range(decisions // BATCH):
            reply = client.post("/v1/access/check/batch", json=body)
            expect(reply.status_code == 200, f"a batch is answered {reply.status_code}: {reply.text[:300]}")
    return target


def table(results: Sequence[Result]) -> str:
    kinds = list(results[0].times)
    names = [f"{kind} {rank}, ms" for kind in kinds for rank in ("p50", "p99")]
    rows = []
    for result in results:
        figures = [f"{value:,.1f}" for kind in kinds for value in result.times[kind]]
        rows.append(
            [result.attack, *figures, str(result.errors), f"{result.growth:+,.0f}", "yes" if result.holds else "NO"]
        )
    return markdown(["beside", *names, "errors", "memory, MiB", "holds"], rows)


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--sqlite", action="store_true")
    options.add_argument("--decisions", type=int, default=100_000, help="that the attacker has recorded")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), metavar="NAME")
    options.set_defaults(seconds=10)
    given = options.parse_args()
    results: list[Result] = []
    with workplace(storage=not given.sqlite) as (stack, directory, services):
        made: Any = installed(stack, "attacked", directory, services, workers=given.workers)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        made.expect_decisions(item, LICENSED, {"id": "org_other"})
        target = attackers_account(made, given.decisions)
        for name in ("", *given.only):
            results.append(measured(name, made, item, target, given.seconds))
            print(results[-1], flush=True)
            made.server.stop()  # one attack's leftovers must not count for the next
            made.server.start()
    place = "attacks --sqlite" if given.sqlite else "attacks"
    publish(place, table(results), {result.attack: asdict(result) for result in results}, given)


if __name__ == "__main__":
    main()

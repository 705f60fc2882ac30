"""The pure decision, against cedarpy, casbin and regopy: decisions per second in one thread.

    pip install -r benchmarks/requirements.txt
    python -m benchmarks.decide

Each engine parses its policies beforehand and gets requests as plain values. Its answers are first compared with the
others'. Engines that are not installed are skipped with a message.
"""

import gc
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any

from benchmarks.peers import ENGINES, Engine, Request, Rules
from benchmarks.report import parser, publish

EXAMPLE: Rules = [(["commercial", "enterprise"], ["full_access"])]
HUNDRED: Rules = [([f"tier-{index}"], ["full_access", f"use_{index}"]) for index in range(99)]
POLICIES = {"the basic example, 2 rules": EXAMPLE, "100 rules": HUNDRED}
REFERENCE = "this service's decide"


def requests_for(rules: Rules) -> list[Request]:
    """Return one request for each rule, and a fifth more that are denied. On average half of the rules are tried."""
    allowed: list[Request] = [("org_acme", name, True) for types, _ in rules for name in types]
    refused: list[Request] = [
        ("org_acme", allowed[0][1], False),
        ("org_acme", "student", True),
        ("org_acme", None, False),
    ]
    return [*allowed, *refused * max(1, len(allowed) // 15)]


def rate(call: Callable[[Request], Any], requests: list[Request], seconds: float) -> float:
    """Return decisions per second, repeating the requests until the time is over."""
    count, began = 0, time.perf_counter()
    while (now := time.perf_counter()) < began + seconds:
        for request in requests:
            call(request)
        count += len(requests)
    return count / (now - began)


def engines_for(rules: Rules) -> dict[str, Engine]:
    """Return the installed engines, verified to give the same answers as the first."""
    found: dict[str, Engine] = {}
    for name, make in ENGINES.items():
        try:
            found[name] = make(rules)
        except ModuleNotFoundError as error:
            print(f"{name} is left out: {error}. See benchmarks/requirements.txt.", file=sys.stderr)
    right_call, right = found[REFERENCE]
    for name, (call, read) in found.items():
        for request in requests_for(rules):
            answer, wanted = read(call(request)), right(right_call(request))
            if answer != wanted:
                sys.exit(f"Nothing is reported: {name} answers {answer} to {request}, not {wanted}.")
    return found


def label(name: str) -> str:
    return name if name == REFERENCE else f"{name} {version(name)}"


def main() -> None:
    options = parser(__doc__, load=False).parse_args()
    lines = [
        "| policy | engine | decisions/s | this service's decide does … times that |",
        "| --- | --- | ---: | ---: |",
    ]
    results: dict[str, dict[str, list[float]]] = {}
    for title, rules in POLICIES.items():
        engines, requests = engines_for(rules), requests_for(rules)
        runs: dict[str, list[float]] = {name: [] for name in engines}
        gc.collect()
        gc.freeze()
        for _ in range(options.rounds):
            for name, (call, _) in engines.items():
                runs[name].append(rate(call, requests, options.seconds))
        for name, rates in runs.items():
            times = median(ours / theirs for ours, theirs in zip(runs[REFERENCE], rates, strict=True))
            lines.append(f"| {title} | {label(name)} | {median(rates):,.0f} | {times:.1f} |")
        results[title] = runs
    publish("decide", "\n".join(lines), results, options)


if __name__ == "__main__":
    main()

"""A proxy's access requests, against the same decisions by POST /v1/access/check.

    python -m benchmarks.edge [REVISION]

One installation serves both alternately; with REVISION, an earlier revision serves the pages too. 1,000 pages (with
Zipf-distributed popularity) are free, for licensees, or closed to AI. Visitors are browsers, unverified crawlers, and
clients without a User-Agent, at 1,000 addresses: 2,000 different requests, of which about two thirds are allowed.
"""

import json
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.before import checked_out
from benchmarks.harness import expect, workplace
from benchmarks.load import DONE, Run, Side, measure
from benchmarks.ours import DENY_ALL, Installation, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import ITEMS, QUESTIONS, bodies_script, zipf

FREE: list[dict[str, Any]] = [{"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}]
LICENSEES: list[dict[str, Any]] = [
    {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    DENY_ALL,
]
NO_AI: list[dict[str, Any]] = [
    {"action": "deny", "priority": 1, "conditions": {"permission": ["ai_training", "ai_input"]}},
    *FREE,
]
SECTIONS = (("free", FREE), ("free", FREE), ("premium", LICENSEES), ("no-ai", NO_AI))
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/{}.0"
CRAWLERS = (("GPTBot/1.2", "gptbot", "ai_training"), ("ClaudeBot/1.0", "claudebot", "ai_training"))


class Visit(NamedTuple):
    page: int
    address: str
    agent: str | None
    requester: str
    permission: str


def path_of(page: int) -> str:
    return f"/{SECTIONS[page % len(SECTIONS)][0]}/{page}"


def visits() -> list[Visit]:
    draw = random.Random(20_099)
    made = []
    for page in draw.choices(range(ITEMS), cum_weights=zipf(ITEMS), k=QUESTIONS):
        number = draw.randrange(1_000)
        address, kind = f"203.0.{112 + number // 250}.{1 + number % 250}", draw.random()
        if kind < 0.7:
            version = draw.randrange(100, 140)
            made.append(Visit(page, address, BROWSER.format(version, version), "anonymous", "read"))
        elif kind < 0.95:
            agent, name, permission = draw.choice(CRAWLERS)
            made.append(Visit(page, address, agent, f"unverified:{name}", permission))
        else:
            made.append(Visit(page, address, None, "anonymous", "read"))
    return made


def headers_of(visit: Visit, key: str) -> dict[str, str]:
    asked = {
        "X-Licensing-Key": key,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "pub.example",
        "X-Forwarded-Uri": path_of(visit.page),
        "X-Forwarded-For": visit.address,
    }
    return asked | ({"User-Agent": visit.agent} if visit.agent else {})


def visits_script(path: Path, key: str) -> Path:
    """Write a wrk script that requests the visits in turn, starting anywhere."""
    lines = ["local visits = {"]
    for visit in visits():
        fields = ", ".join(f'["{name}"]="{value}"' for name, value in headers_of(visit, key).items())
        lines.append(f"  {{{fields}}},")
    lines += ["}", "local requests, at = {}, 0"]
    lines += ["function init(args)", "  math.randomseed(os.time())", "  at = math.random(#visits)"]
    lines += ["  for n = 1, #visits do", '    visits[n]["Host"] = wrk.headers["Host"]']
    lines += ['    requests[n] = wrk.format("GET", nil, visits[n])', "  end", "end"]
    lines += ["function request()", "  at = at % #requests + 1", "  return requests[at]", "end"]
    path.write_text("\n".join(lines) + DONE)
    return path


def check_of(visit: Visit, item: str) -> dict[str, Any]:
    context = {"ip": visit.address} | ({"userAgent": visit.agent} if visit.agent else {})
    return {"contentId": item, "requester": visit.requester, "permission": visit.permission, "context": context}


class EdgeSide(Side):
    """An edge side. Refusals (402, 403) count as answers; after the runs, each must have been recorded."""

    def read(self, found: dict[str, int], connections: int, spent: list[float]) -> Run:
        return super().read({**found, "refused": 0}, connections, spent)


def register(made: Installation) -> list[str]:
    policies = [made.policy(*rules) for _, rules in SECTIONS]
    made.post(
        "/v1/sites",
        {"host": "pub.example", "mode": "enforce", "rules": [{"pattern": "/premium/*", "policyId": policies[2]}]},
    )
    rows = [
        {"title": f"Page {page}", "source": f"https://pub.example{path_of(page)}", "policyId": policies[page % 4]}
        for page in range(ITEMS)
    ]
    return [row["content"]["id"] for row in made.post("/v1/content/bulk", {"items": rows})["data"]]


def serve_pages(stack: ExitStack, name: str, *where: Any, **options: Any) -> tuple[Installation, list[str], EdgeSide]:
    """Start an installation with the pages; return it, the ids of the items, and the side that asks about pages."""
    made = installed(stack, *where, TRUSTED_PROXIES="127.0.0.1", CRAWLER_DNS="off", **options)
    items = register(made)
    script = visits_script(made.directory / "forward.lua", key_of(made))
    storage = made.services.pids if made.services else ()
    return made, items, EdgeSide(name, f"{made.url}/v1/access/forward", script, (made.server,), storage)


def key_of(made: Installation) -> str:
    return made.headers["Authorization"].removeprefix("Bearer ")


def expect_equal_answers(made: Installation, items: list[str], forward: str) -> None:
    """Expect the checks' decisions at the edge, of which some are allowed and some denied."""
    allowed = 0
    for visit in visits()[:200]:
        reply = httpx.get(forward, headers={"User-Agent": "", **headers_of(visit, key_of(made))})
        decided = made.post("/v1/access/check", check_of(visit, items[visit.page]))
        allowed += reply.status_code == 200
        expect(
            reply.headers.get("X-Access-Decision") == ("allow" if decided["allowed"] else "deny"),
            f"forward answers {reply.status_code} and the check {decided} about {visit}",
        )
    expect(80 < allowed < 180, f"{allowed} of 200 visits are let through, which is not mixed")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("revision", metavar="REVISION", nargs="?")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        assert services
        made, items, pages = serve_pages(stack, "a page at the edge", "edge", directory, services)
        expect_equal_answers(made, items, pages.url)
        bodies = [json.dumps(check_of(visit, items[visit.page])) for visit in visits()]
        check_script = bodies_script(made.directory / "check.lua", made.headers, bodies)
        check = Side("a check", f"{made.url}/v1/access/check", check_script, (made.server,), services.pids)
        sides, reference = [pages, check], check
        if options.revision:
            checkout = checked_out(stack, directory, options.revision)
            name = f"a page at {options.revision}"
            _, _, reference = serve_pages(stack, name, "earlier", directory, services, checkout=checkout)
            sides.append(reference)
        before = made.rows()
        measure(sides, **load_of(options))
        own = [pages, check]
        least = sum(side.answered for side in own)
        stored = made.settled_rows() - before
        most = least + sum(side.cut_off for side in own)
        expect(least <= stored <= most, f"{least:,} to {most:,} decisions answered, {stored:,} stored")
        publish("edge", table(sides, reference, "decision"), {"edge": runs_of(sides)}, options)


if __name__ == "__main__":
    main()

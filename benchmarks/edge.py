"""What a proxy asks about a page, with the same decision by POST /v1/access/check.

    python -m benchmarks.edge

One installation serves both in turn: the same item, requester, policy and key, the same facts recorded.
"""

import json

import httpx

from benchmarks.harness import expect, workplace
from benchmarks.load import DONE, Side, measure, post_script
from benchmarks.ours import installed
from benchmarks.report import load_of, parser, publish, runs_of, table

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
AGENT = "Mozilla/5.0 (X11; Linux x86_64)"


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        made = installed(stack, "edge", directory, services, TRUSTED_PROXIES="127.0.0.1")
        page = "https://pub.example/premium/a"
        policy = made.policy(READERS)
        item = made.post("/v1/content", {"title": "A page", "source": page, "policyId": policy})["id"]
        made.post("/v1/sites", {"host": "pub.example", "rules": [{"pattern": "/premium/*", "policyId": policy}]})
        asked = {
            "X-Licensing-Key": made.headers["Authorization"].removeprefix("Bearer "),
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "pub.example",
            "X-Forwarded-Uri": "/premium/a",
            "X-Forwarded-For": "203.0.113.9",
            "User-Agent": AGENT,
        }
        body = json.dumps(
            {"contentId": item, "requester": "anonymous", "permission": "read",
             "context": {"ip": "203.0.113.9", "userAgent": AGENT}}
        )  # fmt: skip
        forward = f"{made.url}/v1/access/forward"
        reply = httpx.get(forward, headers=asked)
        expect(reply.headers.get("X-Access-Decision") == "allow", f"forward answers {reply.status_code}")
        expect(made.post("/v1/access/check", json.loads(body))["allowed"], "The check is denied.")
        script = made.directory / "forward.lua"
        script.write_text("\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in asked.items()) + DONE)
        check_script = post_script(made.directory / "check.lua", made.headers, body)
        servers, storage = (made.server.pid,), services.pids
        check = Side("a check", f"{made.url}/v1/access/check", check_script, servers, storage)
        sides = [Side("a page at the edge", forward, script, servers, storage), check]
        before = made.rows()
        measure(sides, **load_of(options))
        least = sum(side.answered for side in sides)
        stored = made.settled_rows() - before
        most = least + sum(side.cut_off for side in sides)
        expect(least <= stored <= most, f"{least:,} to {most:,} decisions answered, {stored:,} stored")
        publish("edge", table(sides, check, "decision"), {"edge": runs_of(sides)}, options)


if __name__ == "__main__":
    main()

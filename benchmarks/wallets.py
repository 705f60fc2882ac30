"""Access checks that a wallet pays, against the same checks billed in arrears.

    python -m benchmarks.wallets

Three sides answer the same checks, whose licences have a price per access: without wallets, with a wallet for each of
1,000 requesters, and with all checks by one requester, so that all lock the same wallet.
"""

import json
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import Services, expect, workplace
from benchmarks.load import Side, measure
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import BULK, ITEMS, REQUESTERS, bodies_script, questions

PRICE = {"amount": "0.01", "currency": "USD"}
CREDIT = 100_000_000  # more than any run spends
WITHOUT, EACH, SHARED = "without wallets", "a wallet for each requester", "one wallet for all checks"


def side_of(stack: ExitStack, directory: Path, services: Services, name: str, number: int) -> Side:
    """Return a side whose requesters have licences and, unless it is WITHOUT, wallets with credit."""
    made = installed(stack, f"wallets_{number}", directory, services)
    policy = made.policy(ALLOW_LICENSED, DENY_ALL)
    items: list[str] = []
    for first in range(0, ITEMS, BULK):
        rows = [{"title": f"Item {n}", "policyId": policy} for n in range(first, first + BULK)]
        items += [row["content"]["id"] for row in made.post("/v1/content/bulk", {"items": rows})["data"]]
    requesters = ["org_0"] if name == SHARED else [f"org_{n}" for n in range(REQUESTERS)]
    terms = {"licenseType": "commercial", "pricePerAccess": PRICE}
    for first in range(0, len(requesters), BULK):
        rows = [{"requesterId": one, **terms} for one in requesters[first : first + BULK]]
        made.post("/v1/licenses/bulk", {"items": rows})
    for one in requesters if name != WITHOUT else []:
        wallet = made.post("/v1/wallets", {"requesterId": one, "unit": "USD"})["id"]
        made.post(f"/v1/wallets/{wallet}/grants", {"amount": CREDIT})
    bodies = [
        json.dumps(
            {"contentId": items[asked.items[0]], "requester": "org_0" if name == SHARED else asked.requester["id"]}
        )
        for asked in questions()
    ]
    reply = made.post("/v1/access/check", json.loads(bodies[0]))
    expect(reply["allowed"] and ("credits" in reply) is (name != WITHOUT), f"{name} answers {reply}")
    script = bodies_script(made.directory / "wallets.lua", made.headers, bodies)
    return Side(name, f"{made.url}/v1/access/check", script, (made.server.pid,), services.pids)


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        sides = [
            side_of(stack, directory, services, name, number) for number, name in enumerate((WITHOUT, EACH, SHARED))
        ]
        measure(sides, **load_of(options))
        publish("wallets", table(sides, sides[0], "check"), {"loaded": runs_of(sides)}, options)


if __name__ == "__main__":
    main()

"""Access checks that a wallet pays, against the same checks billed in arrears.

    python -m benchmarks.wallets [--workers 2]

Three sides answer the same checks, whose licences have a price per access: without wallets, with a wallet for each of
1,000 requesters, and with all checks by one requester, so that all lock the same wallet.

Afterwards each answer must be stored once, with one spend, and each balance must be the sum of its entries.
"""

import json
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks.harness import Services, expect, workplace
from benchmarks.load import measure
from benchmarks.ours import ALLOW_LICENSED, BULK, DENY_ALL, Installation, Ours, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import ITEMS, REQUESTERS, bodies_script, questions

PRICE = {"amount": "0.01", "currency": "USD"}
CREDIT = 100_000_000  # more than any run spends
WITHOUT, EACH, SHARED = "without wallets", "a wallet for each requester", "one wallet for all checks"

COUNTS = """
SELECT (SELECT count(*) FROM analytics_accessevent), (SELECT count(*) FROM analytics_walletentry WHERE type = 'spend'),
  (SELECT count(*) FROM analytics_wallet AS wallet
    WHERE balance <> (SELECT sum(amount) FROM analytics_walletentry WHERE wallet_id = wallet.id))
"""


def side_of(stack: ExitStack, directory: Path, services: Services, name: str, number: int, workers: int) -> Ours:
    """Return a side whose requesters have licences and, unless it is WITHOUT, wallets with credit."""
    made = installed(stack, f"wallets_{number}", directory, services, workers=workers)
    policy = made.policy(ALLOW_LICENSED, DENY_ALL)
    items = made.many_items([policy] * ITEMS)
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
    return Ours(made, None, bodies[0], made.side(name, script), made.rows())


def expect_exact_balances(made: Installation) -> None:
    """Verify that each decision has one spend, and that balances are the sums of their entries."""
    with psycopg.connect(made.database) as connection:
        decisions, spends, wrong = connection.execute(COUNTS).fetchone()  # type: ignore[misc]
    expect(decisions == spends, f"{made.name}: {decisions:,} decisions, {spends:,} spends")
    expect(not wrong, f"{made.name}: {wrong} balances differ from their entries")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--workers", type=int, default=2, help="of each side; different ones share the wallets")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        assert services
        ours = [
            side_of(stack, directory, services, name, number, options.workers)
            for number, name in enumerate((WITHOUT, EACH, SHARED))
        ]
        sides = [one.side for one in ours]
        measure(sides, **load_of(options))
        for one in ours:
            one.expect_all_stored()
            if one.side.name != WITHOUT:
                expect_exact_balances(one.installation)
        publish("wallets", table(sides, sides[0], "check"), {"loaded": runs_of(sides)}, options)


if __name__ == "__main__":
    main()

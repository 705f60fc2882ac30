"""A publisher's typical requests: one item, a list of 20 by type, and the creation of an item.

    python -m benchmarks.endpoints [REVISION]

Compares this revision with plain DRF (benchmarks/plain_endpoints.py), and with an earlier revision if given. All run
alternately, each in one process on its own database of the same PostgreSQL.
"""

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.before import checked_out
from benchmarks.harness import expect, uvicorn, workplace
from benchmarks.load import Side, get_script, measure, post_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, Installation, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from run import ROOT

ITEMS = 200
PLAIN = "plain DRF"
PLAIN_ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "benchmarks.plain_settings", "URLS": "benchmarks.plain_endpoints"}


class Publisher:
    """An installation with items, as a side of three measurements."""

    def __init__(self, name: str, made: Installation) -> None:
        self.name, self.made = name, made
        self.policy = self.made.policy(ALLOW_LICENSED, DENY_ALL)
        self.items = [self.made.post("/v1/content", self.item(number))["id"] for number in range(ITEMS)]
        if name == PLAIN:
            self.made.serve_instead(uvicorn("benchmarks.plain_wsgi:application", self.made.port), **PLAIN_ENVIRONMENT)
        self.expect_right_answers()

    def item(self, number: int) -> dict[str, Any]:
        """Return an item's fields; half of the items are articles."""
        kind = ("article", "report")[number % 2]
        return {"title": f"Item {number}", "type": kind, "tags": ["markets", "europe"], "policyId": self.policy}

    def expect_right_answers(self) -> None:
        one = self.made.client.get(f"/v1/content/{self.items[0]}").json()
        expect(one["title"] == "Item 0", f"{self.name} answers {one}")
        page = self.made.client.get("/v1/content?type=article&limit=20").json()
        rows, total = (page["results"], page["count"]) if self.name == PLAIN else (page["data"], page["totalCount"])
        expect(len(rows) == 20 and total == ITEMS // 2, f"{self.name} answers {page}")
        expect(rows[0]["title"] == f"Item {ITEMS - 2}", f"{self.name} begins with {rows[0]}")

    def side(self, path: str, body: dict[str, Any] | None = None) -> Side:
        script = self.made.directory / f"load_{'get' if body is None else 'post'}.lua"
        if body is None:
            get_script(script, self.made.headers)
        else:
            post_script(script, self.made.headers, json.dumps(body))
        return self.made.side(self.name, script, path)

    def kinds(self) -> dict[str, Side]:
        link = "policy" if self.name == PLAIN else "policyId"
        new = {"title": "An item", "type": "report", "tags": ["markets"], link: self.policy}
        return {
            "one item": self.side(f"/v1/content/{self.items[0]}"),
            "a list of 20": self.side("/v1/content?type=article&limit=20"),
            "a new item": self.side("/v1/content", new),
        }


def tables(publishers: Sequence[Publisher], reference: Publisher, load: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kinds = {publisher: publisher.kinds() for publisher in publishers}
    texts, results = [], {}
    for kind in kinds[reference]:
        sides = [kinds[publisher][kind] for publisher in publishers]
        measure(sides, **load)
        expect(not any(run.errors for side in sides for run in side.runs), f"{kind}: some requests failed")
        texts.append(f"{kind.capitalize()}:\n\n{table(sides, kinds[reference][kind], 'request')}")
        results[kind] = runs_of(sides)
    return "\n\n".join(texts), results


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("revision", metavar="REVISION", nargs="?")
    arguments.set_defaults(connections=16)
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        code = {"this service": ROOT, PLAIN: ROOT}
        if options.revision:
            code[options.revision] = checked_out(stack, directory, options.revision)
        publishers = [
            Publisher(name, installed(stack, f"side_{number}", directory, services, checkout=checkout))
            for number, (name, checkout) in enumerate(code.items())
        ]
        text, results = tables(publishers, publishers[-1], load_of(options))
        publish("endpoints", text, results, options)


if __name__ == "__main__":
    main()

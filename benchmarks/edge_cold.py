"""A page at the edge whose item this process has not cached, against cached ones.

    python -m benchmarks.edge_cold

The cached pages are those of benchmarks.edge. Of 120,000 further items with the same policies, each is asked about
once, in order.
"""

from pathlib import Path

from benchmarks.edge import BROWSER, EdgeSide, key_of, serve_pages
from benchmarks.harness import expect, workplace
from benchmarks.load import DONE, measure
from benchmarks.ours import Installation
from benchmarks.report import load_of, parser, publish, runs_of, table

PAGES = 120_000
BULK = 1_000
BEGIN = "function done(summary, latency)"
IN_FLIGHT = 1_000  # pages that the last requests of a run may have asked about without being counted


def register_cold(made: Installation) -> None:
    """Register the pages with the policies of benchmarks.edge, in turn."""
    policies = [row["id"] for row in made.client.get("/v1/policies?sort=created").json()["data"]]
    for first in range(0, PAGES, BULK):
        rows = [
            {
                "title": f"Page {page}",
                "source": f"https://pub.example/cold/{page}",
                "policyId": policies[page % len(policies)],
            }
            for page in range(first, first + BULK)
        ]
        made.post("/v1/content/bulk", {"items": rows})


def cold_script(path: Path, key: str) -> Path:
    """Write a wrk script for one thread that asks about each page once, across all runs; a file keeps the place."""
    place = path.with_suffix(".place")
    place.write_text("0")
    agent = BROWSER.format(120, 120)
    save = f"""
  local file = io.open("{place}", "r+")
  local before = tonumber(file:read("*a"))
  file:seek("set")
  file:write(before + summary.requests + {IN_FLIGHT})
  file:close()"""
    path.write_text(f"""
local at = 0
function init(args)
  at = tonumber(io.open("{place}"):read("*a"))
end
function request()
  at = at + 1
  return wrk.format("GET", nil, {{
    ["X-Licensing-Key"] = "{key}", ["X-Forwarded-Proto"] = "https", ["X-Forwarded-Host"] = "pub.example",
    ["X-Forwarded-Uri"] = "/cold/" .. at, ["X-Forwarded-For"] = "203.0.112." .. (1 + at % 250),
    ["User-Agent"] = "{agent}", ["Host"] = wrk.headers["Host"]}})
end
{DONE.replace(BEGIN, BEGIN + save)}""")
    return path


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        made, _, warm = serve_pages(stack, "a cached item", "edge", directory, services)
        register_cold(made)
        script = cold_script(made.directory / "cold.lua", key_of(made))
        cold = EdgeSide("an item not cached", warm.url, script, warm.servers, warm.storage)
        measure([cold, warm], **load_of(options))
        asked = int(script.with_suffix(".place").read_text())
        expect(asked < PAGES, f"{asked:,} pages were asked about, of {PAGES:,}")
        publish("edge_cold", table([cold, warm], warm, "decision"), runs_of([cold, warm]), options)


if __name__ == "__main__":
    main()

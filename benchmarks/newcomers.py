"""A check by a new requester, compared with one by a known requester.

    python -m benchmarks.newcomers [--before REVISION]

With a revision, its checks by new requesters are measured too, on its own database of the same PostgreSQL.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg

from benchmarks.before import checked_out
from benchmarks.harness import Services, expect, workplace
from benchmarks.load import Side, measure, retry_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, Installation, Ours, installed, side_of
from benchmarks.report import load_of, parser, publish, runs_of, table
from run import ROOT

NEWCOMER = "newcomer"  # placeholder for the requester's id, which the script numbers


def newcomers(made: Installation, item: str) -> Path:
    """Write a script of checks with a new requester each, across all runs."""
    body = f'{{"contentId":"{item}","permission":"commercial_use","requester":'
    body += f'{{"id":"{NEWCOMER}","name":"Acme","licenseType":"commercial","hasValidLicense":true}}}}'
    path = retry_script(made.directory / "newcomers.lua", made.headers, body, "X-Request-Id")
    numbered = f'  wrk.body = ([==[{body}]==]):gsub("{NEWCOMER}", run .. count)\n  return wrk.format()'
    path.write_text(path.read_text().replace("  return wrk.format()", numbered, 1))
    return path


def expect_one_row_each(made: Installation, known: int) -> None:
    """Verify that each new requester has exactly one decision."""
    query = """SELECT (SELECT count(*) FROM licensing_requester), count(DISTINCT requester_id), count(*)
      FROM analytics_accessevent WHERE requester_id <> (SELECT id FROM licensing_requester WHERE requester_id = %s)"""
    with psycopg.connect(made.database) as connection:
        requesters, asked, decisions = connection.execute(query, [LICENSED["id"]]).fetchone() or (0, 0, 0)
    expect(requesters - known == asked == decisions, f"{requesters} requesters, {asked} asked, {decisions} decisions")


def prepared(stack: ExitStack, slug: str, name: str, directory: Path, services: Services, checkout: Path) -> Ours:
    """Return an installation whose checks are each by a new requester."""
    made = installed(stack, slug, directory, services, checkout=checkout)
    ours = side_of(made, name, made.items(made.policy(ALLOW_LICENSED, DENY_ALL)))
    assert ours.items
    ours.side.script = newcomers(made, ours.items[0])
    return ours


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--before", metavar="REVISION")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        assert services
        ours = [prepared(stack, "ours", "new requesters", directory, services, ROOT)]
        if options.before:
            checkout = checked_out(stack, directory, options.before)
            name = f"new requesters, {options.before}"
            ours.append(prepared(stack, "earlier", name, directory, services, checkout))
        sides: list[Side] = [one.side for one in ours]
        known = installed(stack, "known", directory, services)
        reference = side_of(known, "one known requester", known.items(known.policy(ALLOW_LICENSED, DENY_ALL)))
        sides.append(replace(reference.side, runs=[]))
        measure(sides, **load_of(options))
        for one in ours:
            made = one.installation
            expect(made.settled_rows() - one.rows_before >= one.side.answered, f"{one.side.name}: decisions are lost")
            expect_one_row_each(made, known=1)
        publish("newcomers", table(sides, sides[-1], "check"), runs_of(sides), options)


if __name__ == "__main__":
    main()

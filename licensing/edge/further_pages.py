"""A visit whose page shows the text of further pages, such as a post's feed. It is one decision: the strictest."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from licensing.access.check_values import Check
from licensing.access.deciding import Answer, leniency
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.gateway import Gateway


async def strictest_check(
    gateway: Gateway, sender: Sender, check: Check, further: Sequence[str], now: datetime
) -> Check:
    """Return the check of the page with the strictest decision: of the page itself, unless a further one is stricter.

    All are decided in a dry run, which records and counts nothing. A check that gets no decision is returned at once:
    the same error answers it then.
    """
    if not further:
        return check
    checks = [check, *(replace(check, selector=("page", url)) for url in further)]
    answers = await gateway.check(sender, [replace(one, dry_run=True) for one in checks], now)
    ranked: list[tuple[tuple[bool, ...], int]] = []
    for one, answer in zip(checks, answers, strict=True):
        if not isinstance(answer, Answer):
            return one
        ranked.append((leniency(answer), len(ranked)))
    _, place = min(ranked)
    return checks[place]

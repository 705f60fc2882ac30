"""A visit whose page shows the text of further pages, such as a post's feed. It is one decision: the strictest."""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter

from msgspec.structs import replace

from kit.http.errors import NotFound
from licensing.access.check_values import Check
from licensing.access.deciding import Answer, Leniency, leniency
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.gateway import Gateway


async def strictest_check(
    gateway: Gateway, sender: Sender, check: Check, further: Sequence[str], now: datetime
) -> Check:
    """Return the check of the page with the strictest decision: of the page itself, unless a further one is stricter.

    All are decided in a dry run, which records and counts nothing. A page that nobody knows, on a host without a site,
    is the least strict. Another check without a decision is returned at once: the same error answers it then.
    """
    if not further:
        return check
    checks = [check, *(replace(check, selector=("page", url)) for url in further)]
    answers = await gateway.check(sender, [replace(one, dry_run=True) for one in checks], now)
    ranked: list[tuple[Leniency, Check]] = []
    for one, answer in zip(checks, answers, strict=True):
        if isinstance(answer, Answer):
            ranked.append((leniency(answer), one))
        elif not isinstance(answer, NotFound):
            return one
    if not ranked:
        return check
    _, strictest = min(ranked, key=itemgetter(0))
    return strictest

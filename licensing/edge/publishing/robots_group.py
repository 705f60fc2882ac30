"""Renders the group to add to robots.txt, with Content Signals and AIPREF.

A use that only some visitors without a licence are allowed is neither promised nor refused: it is left out.
"""

from collections.abc import Iterator

from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.publication import Publication

NAMES_IN_USAGE = {"search": "search", "ai_input": "ai-use", "ai_training": "train-ai"}
NAMES_IN_SIGNAL = {"search": "search", "ai_input": "ai-input", "ai_training": "ai-train"}
UNKNOWN = ", ".join(
    f"{NAMES_IN_USAGE[use]}=unknown" for use in reversed(NAMES_IN_USAGE)
)  # the vocabulary: neither `y` nor `n`


def robots(told: Publication) -> bytes | None:
    """Render the group; None without terms. It does not change which pages may be fetched.

    It states a use for the whole host only if all pages agree and a policy is about all of them.
    """
    if not told.terms:
        return None
    lines = ["User-agent: *", f"License: https://{told.netloc}/license.xml"]
    allowed, refused = signalled(told.everywhere), told.nowhere & NAMES_IN_SIGNAL.keys()
    if allowed or refused:
        said = [use for use in NAMES_IN_SIGNAL if use in allowed | refused]
        signal = ", ".join(f"{NAMES_IN_SIGNAL[use]}={'yes' if use in allowed else 'no'}" for use in said)
        lines += [f"Content-Signal: {signal}", f"Content-Usage: {usage(allowed, refused)}"]
    return "\n".join([*lines, *usage_lines(told), ""]).encode()


def usage_lines(told: Publication) -> Iterator[str]:
    """Yield the AIPREF lines of the entries, in their order.

    Crawlers use the longest matching path. So an entry that leaves out every use overrides shorter ones with the
    preference `unknown`, and has no line if they state nothing.
    """
    lines: list[str] = []
    for one in reversed(told.terms):  # the shortest first
        if stated := usage(signalled(one.uses), one.refused) or (lines and UNKNOWN):
            lines.append(f"Content-Usage: {one.url} {stated}")
    yield from reversed(lines)


def signalled(uses: Promise) -> Promise:
    """Return the uses that the signals can promise. They have one word for `ai_input` and `ai_index`."""
    return uses - {"ai_index"} if "ai_index" in uses else uses - {"ai_input"}


def usage(allowed: Promise, refused: Promise) -> str:
    said = [use for use in reversed(NAMES_IN_USAGE) if use in allowed | refused]
    return ", ".join(f"{NAMES_IN_USAGE[use]}={'y' if use in allowed else 'n'}" for use in said)

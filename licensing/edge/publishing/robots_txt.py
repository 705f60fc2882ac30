"""Renders the group to add to robots.txt, with Content Signals and AIPREF.

A use that only some visitors without a licence are allowed is neither promised nor refused: it is left out.
"""

from collections.abc import Iterator, Mapping, Sequence

from licensing.crawler_classes import NAMES_IN_SIGNAL, NAMES_IN_USAGE
from licensing.edge.original import FREE_FOLDERS, FREE_PATHS
from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.publication import Agents, Publication
from licensing.edge.publishing.published_terms import url_pattern

# Files that are open to everybody (licensing.edge.original), each with an example.
FREE_EXAMPLES = [
    *((f"{path}$", path) for path in sorted(FREE_PATHS)),
    *((folder, f"{folder}a") for folder in FREE_FOLDERS),
    ("/sitemap*.xml$", "/sitemap.xml"),
    ("/wp-sitemap*.xml$", "/wp-sitemap-posts-post-1.xml"),
    ("/*-sitemap.xml$", "/a-sitemap.xml"),
]
MUST_READ = 500 * 1024  # bytes that a crawler reads at least: RFC 9309, 2.5. Google reads no more
UNKNOWN_USAGE = ", ".join(f"{name}=unknown" for name in NAMES_IN_USAGE.values())  # neither `y` nor `n`


def write_robots(publication: Publication) -> bytes | None:
    """Render the groups; None without terms.

    The first one is for every crawler, and does not change which pages may be fetched. Its empty rule ends it: without
    one, crawlers take the next group's rules for those of both. The others disallow pages for crawlers that no rule
    lets have them. A crawler that a group names reads no other one, so each has all statements.

    They state a use for the whole host only if all pages agree and a policy is about all of them. Where the groups
    would be larger than crawlers must read, those for some crawlers state no uses of single pages, so that their rules
    are read.
    """
    if not publication.terms:
        return None
    tokens_by_rules: dict[tuple[str, ...], list[str]] = {}
    for agents in publication.agents:
        if rules := tuple(rules_for(publication, agents)):
            tokens_by_rules.setdefault(rules, []).extend(agents.tokens)
    of_host = state_uses(publication)
    all_uses = [*of_host, *usage_of_entries(publication)]
    groups = render_groups(tokens_by_rules, all_uses, for_some=all_uses)
    return groups if len(groups) <= MUST_READ else render_groups(tokens_by_rules, all_uses, for_some=of_host)


def render_groups(
    tokens_by_rules: Mapping[tuple[str, ...], Sequence[str]], for_all: Sequence[str], *, for_some: Sequence[str]
) -> bytes:
    """Render the groups, each with its lines that state uses."""
    groups = [["User-agent: *", *for_all, "Disallow:"]]
    for rules, tokens in tokens_by_rules.items():
        groups.append([*(f"User-agent: {token}" for token in tokens), *for_some, *rules])
    return "\n\n".join("\n".join(group) for group in groups).encode() + b"\n"


def state_uses(publication: Publication) -> list[str]:
    """Return the lines that state uses of the whole host."""
    lines = [f"License: https://{publication.netloc}/license.xml"]
    allowed, refused = signalled(publication.everywhere), publication.nowhere & NAMES_IN_SIGNAL.keys()
    if allowed or refused:
        uses = [use for use in reversed(NAMES_IN_SIGNAL) if use in allowed | refused]
        signal = ", ".join(f"{NAMES_IN_SIGNAL[use]}={'yes' if use in allowed else 'no'}" for use in uses)
        lines += [f"Content-Signal: {signal}", f"Content-Usage: {render_usage(allowed, refused)}"]
    return lines


def rules_for(publication: Publication, agents: Agents) -> list[str]:
    """Return the lines for these crawlers; none if no page is closed to them.

    Crawlers use the longest matching path, and `Allow` among equally long ones.
    """
    is_open = {entry.url: agents.may_have(entry) for entry in publication.terms}
    closed = [path for path, may in is_open.items() if not may]
    if not closed:
        return []
    shortest = min(map(len, closed))
    rules = [
        f"{'Allow' if may else 'Disallow'}: {path}"
        for path, may in is_open.items()
        if not may or len(path) >= shortest
    ]
    return [*(f"Allow: {path}" for path, example in FREE_EXAMPLES if is_closed(is_open, example)), *rules]


def is_closed(is_open: Mapping[str, bool], path: str) -> bool:
    return not next((may for url, may in is_open.items() if url_pattern(url).matches(path)), True)


def usage_of_entries(publication: Publication) -> Iterator[str]:
    """Yield the AIPREF lines of the entries, in their order.

    Crawlers use the longest matching path. So an entry that leaves out every use overrides shorter ones with the
    preference `unknown`, and has no line if they state nothing.
    """
    lines: list[str] = []
    for entry in reversed(publication.terms):  # the shortest first
        if preferences := render_usage(signalled(entry.uses), entry.refused) or (lines and UNKNOWN_USAGE):
            lines.append(f"Content-Usage: {entry.url} {preferences}")
    yield from reversed(lines)


def signalled(uses: Promise) -> Promise:
    """Return the uses that the signals can promise. They have one word for `ai_input` and `ai_index`."""
    return uses - {"ai_index"} if "ai_index" in uses else uses - {"ai_input"}


def render_usage(allowed: Promise, refused: Promise) -> str:
    uses = [use for use in NAMES_IN_USAGE if use in allowed | refused]
    return ", ".join(f"{NAMES_IN_USAGE[use]}={'y' if use in allowed else 'n'}" for use in uses)

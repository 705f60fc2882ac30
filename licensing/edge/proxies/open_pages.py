"""The pages of a site that its proxy may keep open while the service is down."""

from collections.abc import Iterable, Sequence

from django.db.models import prefetch_related_objects
from msgspec import Struct

from accounts.models import Unknown
from licensing.access.lookup.policies import compiled_policies
from licensing.edge.crawlers import current_table
from licensing.edge.proxies.paths import closing, opening
from licensing.edge.publishing.documents import Item, compiled_rules, items_of, linked_revisions, registered_at
from licensing.edge.publishing.promises import READ, always_allows
from licensing.policies.decision import CompiledPolicy
from licensing.sites.models import Site
from licensing.sites.patterns import Pattern, PatternIndex, compiled, overlap

MAX_CLOSED_ITEMS = 500
MAX_COMPARISONS = 5_000_000  # about a second
ASSET_FOLDERS = ("assets", "static")
NOT_PLAIN = "It needs other characters than letters, digits, _, -, . and ~, dot segments, or too many wildcards."
TOO_MANY_ITEMS = f"It has items that are not open to everybody, and there are over {MAX_CLOSED_ITEMS} of them."


class Entry(Struct, frozen=True):
    """An expression for paths. The first one that matches a path decides."""

    expression: str
    is_open: bool


class OpenPages(Struct, frozen=True):
    """`omitted` are patterns that everybody may read, but that a proxy's file cannot name, with the reason.

    `asset_folders` are the asset folders in the files of deploy/edge that have no restricted page. `refused_crawlers`
    are the User-Agents of known crawlers for whom the pages do not stay open: some page does not allow everybody their
    use.
    """

    entries: Sequence[Entry]
    patterns: Sequence[str]
    omitted: Sequence[tuple[str, str]]
    asset_folders: Sequence[str]
    refused_crawlers: Sequence[str]


def open_pages(site: Site) -> OpenPages:
    """Return the pages that everybody may read: by rules that allow it always, without a price or a limit."""
    prefetch_related_objects([site], "rules__policy")
    with_policies = list(compiled_rules(site))
    rules = [(text, compiled(text), is_open(site, policy)) for text, policy in with_policies]
    rules.sort(key=lambda rule: (-rule[1].length, rule[2]))  # the longest decides; of two alike the closed one
    opened = [pattern for _, pattern, opens in rules if opens]
    closed = [pattern for _, pattern, opens in rules if not opens]
    registered = registered_items(site)
    items = closed_items(registered)
    inside = pages_inside(opened, items)
    entries = [Entry(one, is_open=False) for one in map(closing, inside[:MAX_CLOSED_ITEMS]) if one]
    patterns, omitted = [], []
    for text, pattern, opens in rules:
        if not opens:
            entries += [Entry(one, is_open=False) for one in (closing(pattern),) if one is not None]
        elif len(inside) > MAX_CLOSED_ITEMS:
            omitted.append((text, TOO_MANY_ITEMS))
        elif (expression := opening(pattern)) is None:
            omitted.append((text, NOT_PLAIN))
        else:
            entries.append(Entry(expression, is_open=True))
            patterns.append(text)
    while entries and not entries[-1].is_open:
        entries.pop()
    used = [*(policy for _, policy in with_policies), *(item.policy for item in registered)]
    policies = {id(policy): policy for policy in used if policy is not None}.values()
    refused = crawlers_refused_by([policy for policy in policies if always_allows(policy, READ)])
    return OpenPages(entries, patterns, omitted, unrestricted_folders([*closed, *items]), refused)


def is_open(site: Site, policy: CompiledPolicy | None) -> bool:
    return site.unknown == Unknown.ALLOW if policy is None else always_allows(policy, READ)


def pages_inside(opened: Sequence[Pattern], pages: Sequence[Pattern]) -> list[Pattern]:
    """Return the pages that one of the opened patterns matches, up to one more than MAX_CLOSED_ITEMS.

    SAME_PAGE may leave out a final slash, so pages are matched with it, too. After MAX_COMPARISONS with parts of
    patterns, all further pages count as inside.
    """
    index = PatternIndex(opened)
    comparisons = 0
    inside: list[Pattern] = []
    for page in pages:
        path = page.parts[0]
        places = list(index.candidates(f"{path}/"))
        comparisons += 2 * sum(len(opened[place].parts) for place in places)
        if comparisons > MAX_COMPARISONS or any(
            opened[place].matches(path) or opened[place].matches(f"{path}/") for place in places
        ):
            inside.append(page)
        if len(inside) > MAX_CLOSED_ITEMS:
            break
    return inside


def crawlers_refused_by(policies: Sequence[CompiledPolicy]) -> list[str]:
    """Return the User-Agents of the known crawlers that one of the policies does not always allow."""
    known = current_table.get().crawlers
    wanted = {crawler.permission for crawler in known}
    refused = {use for use in wanted if not all(always_allows(policy, use) for policy in policies)}
    agents = ((crawler.user_agent, crawler.permission) for crawler in known)
    return [agent for agent, permission in agents if agent is not None and permission in refused]


def registered_items(site: Site) -> list[Item]:
    items = items_of(site)
    return list(registered_at(site, items, compiled_policies.get(linked_revisions(items))))


def closed_items(registered: Sequence[Item]) -> list[Pattern]:
    """Return the pages of the items that are not open to everybody."""
    policies = {id(item.policy): item.policy for item in registered}
    closed = {key for key, policy in policies.items() if policy is None or not always_allows(policy, READ)}
    paths = dict.fromkeys(item.page.path for item in registered if id(item.policy) in closed)
    return [Pattern((path,), is_anchored=True) for path in paths]


def unrestricted_folders(closed: Iterable[Pattern]) -> list[str]:
    """Return the asset folders that no closed pattern names; one for all pages does not."""
    named = [one for one in closed if any(part.strip("/") for part in one.parts)]
    folders = {folder: Pattern((f"/{folder}/", ""), is_anchored=False) for folder in ASSET_FOLDERS}
    return [folder for folder, of_it in folders.items() if not any(overlap(one, of_it) for one in named)]

"""Describes a site for its proxy: whom the service is asked about, and which pages stay open while it is down."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from django.db.models import prefetch_related_objects
from msgspec import Struct

from accounts.models import Unknown
from licensing.edge.current_crawlers import current_table
from licensing.edge.proxies.accesses import Access, strictest
from licensing.edge.proxies.items import MAX_CLOSED_ITEMS, choose_items
from licensing.edge.proxies.paths import ASSET_FOLDERS, closing, opening
from licensing.edge.publishing.documents import Item, compiled_rules, registered_items
from licensing.edge.publishing.promises import READ, always_allows
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.modes import Mode
from licensing.sites.models import AskedVisitors, Site
from licensing.sites.patterns import Pattern, compile_pattern, patterns_overlap

EVERY_PAGE = "/*"
NOT_PLAIN = "It needs characters that have to be escaped, dot segments, or too many wildcards."
TOO_MANY_ITEMS = "{:,} of its items are not open to everybody, and a file names at most {:,} such items."
NOT_COMPARED = "The site has too many items to compare all of them with its patterns."


class Entry(Struct, frozen=True):
    """An expression for paths. The first one that matches a path decides.

    `is_whole`: whether the expression matches whole paths. Others match the beginning of paths, in any case.
    """

    expression: str
    access: Access
    is_whole: bool


class Description(Struct, frozen=True):
    """A site as its proxy has to know it.

    `default` is the access of pages that no entry matches. `patterns` are those whose pages stay open while the
    service is down. `omitted` are patterns that everybody may read, but that a file cannot name, with the reason.
    `asset_folders` are the asset folders in the files of deploy/edge that have no restricted page. `refused_crawlers`
    are the User-Agents of known crawlers for whom no page stays open: some page does not allow everybody their use.
    `crawlers` are the User-Agents of all known crawlers.
    """

    enforces: bool
    entries: Sequence[Entry]
    default: Access
    patterns: Sequence[str]
    omitted: Sequence[tuple[str, str]]
    asset_folders: Sequence[str]
    refused_crawlers: Sequence[str]
    crawlers: Sequence[str]

    @property
    def groups(self) -> list[tuple[Entry, list[str]]]:
        """Return the entries in groups of neighbours that differ in their expressions only."""
        neighbours = groupby(self.entries, lambda entry: (entry.access, entry.is_whole))
        groups = [list(group) for _, group in neighbours]
        return [(group[0], [entry.expression for entry in group]) for group in groups]


def describe(site: Site) -> Description:
    prefetch_related_objects([site], "rules__policy")
    rules, registered = compiled_rules(site), list(registered_items(site))
    pages = Pages(site)
    for text, policy in rules:
        pages.add_pattern(text, policy)
    pages.add_unknown_pages(rules)
    pages.add_items(registered)
    entries, patterns, omitted = pages.entries()
    used = [*(policy for _, policy in rules), *(item.policy for item in registered)]
    policies = {id(policy): policy for policy in used if policy is not None}.values()
    lasting = [policy for policy in policies if pages.may_refuse_crawlers(policy)]
    known = current_table.get().crawlers
    return Description(
        enforces=pages.enforces,
        entries=entries,
        default=pages.default,
        patterns=patterns,
        omitted=omitted,
        asset_folders=unrestricted_folders(pages.restricted()),
        refused_crawlers=crawlers_refused_by(lasting) if pages.enforces else [],
        crawlers=[crawler.user_agent for crawler in known if crawler.user_agent is not None],
    )


class Pages:
    """Collects the patterns and items of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.enforces = site.mode == Mode.ENFORCE
        self.default = Access.CLOSED if self.enforces else Access.ASK
        self.open = Access.ASK if site.ask == AskedVisitors.EVERYONE else Access.OPEN
        self.rules: list[tuple[str, Pattern, Access]] = []
        self.items: dict[str, Access] = {}
        self.paths_with_every_query: set[str] = set()

    def access_for(self, policy: CompiledPolicy | None) -> Access:
        """Return what people need for pages with this policy; those without one are unknown pages."""
        if policy is None:
            return self.open if self.site.unknown == Unknown.ALLOW else self.default
        if always_allows(policy, READ):
            return self.open
        if policy.mode != Mode.ENFORCE or always_allows(policy, READ, within_limits=True):
            return Access.ASK
        return self.default

    def may_refuse_crawlers(self, policy: CompiledPolicy) -> bool:
        """Whether pages with this policy stay open to people, but perhaps not to crawlers."""
        return policy.mode == Mode.ENFORCE and self.access_for(policy) != Access.CLOSED

    def add_pattern(self, text: str, policy: CompiledPolicy | None) -> None:
        self.rules.append((text, compile_pattern(text), self.access_for(policy)))

    def add_unknown_pages(self, rules: Sequence[tuple[str, CompiledPolicy | None]]) -> None:
        """Add the pages without a pattern if they are open to everybody."""
        has_others = not any(compile_pattern(text).matches_every_path for text, _ in rules)
        if has_others and self.site.unknown == Unknown.ALLOW:
            self.add_pattern(EVERY_PAGE, None)

    def add_items(self, registered: Iterable[Item]) -> None:
        """Add the items that are not open to everybody. Of several at one page, the strictest counts."""
        for item in registered:
            path = item.page.path
            if not item.page.parameters:
                self.paths_with_every_query.add(path)
            access = self.default if item.policy is None else self.access_for(item.policy)
            if access != self.open:
                self.items[path] = strictest(access, self.items.get(path, access))

    def entries(self) -> tuple[list[Entry], list[str], list[tuple[str, str]]]:
        """Return the entries, the patterns that stay open, and those that cannot be named, with the reason."""
        # The longest pattern decides; of two that are alike the strictest.
        rules = sorted(self.rules, key=lambda rule: (-rule[1].length, rule[2].strictness))
        ordered, accesses = [pattern for _, pattern, _ in rules], [access for *_, access in rules]
        choice = choose_items(self.items, self.paths_with_every_query, ordered, accesses, self.default)
        entries: list[Entry] = []
        for path, access in choice.items:
            entries += self.entries_for(Pattern((path,), is_anchored=True), access)
        patterns, omitted = [], []
        for place, (text, pattern, access) in enumerate(rules):
            number = choice.overfull.get(place)
            entries += self.entries_for(pattern, access if number is None else self.default)
            if access == Access.CLOSED:
                continue
            if self.enforces and number is not None:
                too_many = TOO_MANY_ITEMS.format(number, MAX_CLOSED_ITEMS)
                omitted.append((text, too_many if choice.is_complete else NOT_COMPARED))
            elif self.enforces and opening(pattern) is None:
                omitted.append((text, NOT_PLAIN))
            else:
                patterns.append(text)
        while entries and entries[-1].access == self.default:
            entries.pop()
        return entries, patterns, omitted

    def entries_for(self, pattern: Pattern, access: Access) -> list[Entry]:
        """Return the entry of an open pattern, or those of another one.

        Its own pages are named first. Whatever else its origin may take for one of them gets the default.
        """
        whole = opening(pattern) if access != self.default else None
        entries = [] if whole is None else [Entry(whole, access, is_whole=True)]
        rest = None if access == self.open else closing(pattern)
        return entries if rest is None else [*entries, Entry(rest, self.default, is_whole=False)]

    def restricted(self) -> list[Pattern]:
        items = [Pattern((path,), is_anchored=True) for path in self.items]
        return [*(pattern for _, pattern, access in self.rules if access != self.open), *items]


def crawlers_refused_by(policies: Sequence[CompiledPolicy]) -> list[str]:
    """Return the User-Agents of the known crawlers that one of the policies does not always allow."""
    crawlers = current_table.get().crawlers
    uses = {crawler.permission for crawler in crawlers} - {READ}
    refused = {use for use in uses if not all(always_allows(policy, use) for policy in policies)}
    return [
        crawler.user_agent for crawler in crawlers if crawler.user_agent is not None and crawler.permission in refused
    ]


def unrestricted_folders(closed: Iterable[Pattern]) -> list[str]:
    """Return the asset folders that no closed pattern names; one for all pages does not."""
    restricting = [pattern for pattern in closed if any(part.strip("/") for part in pattern.parts)]
    folders: Mapping[str, Pattern] = {
        folder: Pattern((f"/{folder}/", ""), is_anchored=False) for folder in ASSET_FOLDERS
    }
    return [
        folder
        for folder, files in folders.items()
        if not any(patterns_overlap(pattern, files) for pattern in restricting)
    ]

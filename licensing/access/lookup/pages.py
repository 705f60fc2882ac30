"""Compiled policies, cached in this process, and the pages that they decide at the edge.

A page is built from the registered items and the rules of its site.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from django.db.models import F
from django.db.models.fields.tuple_lookups import Tuple, TupleIn

from accounts.models import Unknown
from kit.bounded_cache import BoundedCache
from kit.storage.postgresql.timelines import empty_on_promotion
from kit.values import ids
from kit.values.canonical_pages import RequestedPages
from licensing.access.subjects import Item, describe_item
from licensing.content.models import ContentType
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.models import PolicyRevision
from licensing.policies.modes import Mode
from licensing.policies.rules import parse_rules
from licensing.sites.models import Site, SiteRule
from licensing.sites.pages import Candidate
from licensing.sites.refusal_texts import NO_TEXTS

REVISION_COLUMNS = ("policy_id", "version", "default_action", "rules", "mode")  # columns needed to compile a revision
MAX_COMPILED = 32 * 1024 * 1024  # bytes of compiled policies in memory

Revision = tuple[str, int]  # (policy id, version)


def read_policies(requested: Iterable[Revision]) -> dict[Revision, CompiledPolicy]:
    """Read and compile these revisions in one query, without the cache."""
    revisions = sorted(requested)
    if not revisions:
        return {}
    key = Tuple(F("policy_id"), F("version"))
    return {
        (row.policy_id, row.version): CompiledPolicy.of(
            row.policy_id, row.version, row.default_action, parse_rules(row.rules), row.mode
        )
        for row in PolicyRevision.objects.only(*REVISION_COLUMNS).filter(TupleIn(key, revisions))
    }


class CompiledPolicies:
    """Cache of compiled policy revisions, for checks.

    Erasure rewrites revisions in place, but then stores each policy's current terms as a new version. Former versions
    in this cache may be outdated: recorded decisions use `read_policies`.
    """

    def __init__(self) -> None:
        self.cached: BoundedCache[Revision, CompiledPolicy] = BoundedCache(lambda policy: policy.size, MAX_COMPILED)

    def get(self, requested: Iterable[Revision]) -> dict[Revision, CompiledPolicy]:
        """Return all of these revisions; one query reads those that are not cached."""
        revisions = set(requested)
        policies = {revision: policy for revision in revisions if (policy := self.cached.get(revision)) is not None}
        missing = revisions - policies.keys()
        for revision, compiled in read_policies(missing).items():
            policies[revision] = compiled
            self.cached.put(revision, compiled)
        return policies

    def one(self, revision: Revision) -> CompiledPolicy:
        return self.get([revision])[revision]


compiled_policies = CompiledPolicies()
empty_on_promotion(compiled_policies.cached.clear)


Compiled = Callable[[Revision], CompiledPolicy]


def names_of(keys: Iterable[bytes | None]) -> tuple[str, ...]:
    """Return the names of URLs in accounts.plans.epochs, from their keys."""
    return tuple(key.hex() for key in keys if key)


def page_named_by(
    page: RequestedPages,
    candidates: Iterable[Candidate],
    items: Mapping[str, Item],
    site: Site | None,
    refused_id: str | None,
    compiled: Compiled = compiled_policies.one,
) -> Item | None:
    """Return the page; `others` are further pages that the URL may name. None if it names none.

    `items` are the candidates' by their ids, `refused_id` is the item of refused pages on hosts without a site.
    """
    names = names_of(page.pages)
    named: dict[object, Item] = {}
    for paths, item in candidates:
        if item is not None:
            if item.pk not in named:
                named[item.pk] = registered_page(items[item.pk], site, page.address, names)
        elif site is not None:
            rule = site.rule_table.most_specific(*paths)
            if (key := rule.pk if rule is not None else None) not in named:
                named[key] = page_by_rule(site, rule, page.address, names, compiled)
        elif refused_id is not None and None not in named:
            named[None] = refused_page(refused_id, page.address, names)
    if not named:
        return None
    first, *others = named.values()
    return replace(first, others=tuple(others)) if others else first


def registered_page(item: Item, site: Site | None, url: str, names: tuple[str, ...]) -> Item:
    mode = site.mode if site is not None else Mode.ENFORCE
    refusal = site.refusal_texts if site is not None else NO_TEXTS
    return replace(item, mode=mode, facts=item.facts | page_facts(url, site), refusal=refusal, urls=names)


def page_by_rule(
    site: Site,
    rule: SiteRule | None,
    url: str,
    names: tuple[str, ...] = (),
    compiled: Compiled = compiled_policies.one,
) -> Item:
    """Build a page that is not a registered item from a rule of its site. Without a rule the page is unknown."""
    policy = rule.policy if rule is not None else None
    description = describe_item(ContentType.ARTICLE.value, (), None, False)
    facts = {**description.facts, **page_facts(url, site)}
    is_open = policy is None and site.unknown == Unknown.ALLOW
    if is_open:
        facts["open"] = True
    if rule is not None:
        facts["pattern"] = rule.pattern
    return Item(
        id=site.pages_id,
        key=ids.id_to_hex("cnt", site.pages_id),
        policy=None if policy is None else compiled((policy.pk, policy.version)),
        policy_key=None if policy is None else ids.id_to_hex("pol", policy.pk),
        **description._replace(facts=facts)._asdict(),
        mode=site.mode,
        is_open=is_open,
        urls=names,
        refusal=site.refusal_texts,
    )


def refused_page(pages_id: str, url: str, names: tuple[str, ...] = (), *, is_elsewhere: bool = False) -> Item:
    """Build a page on a host without a site, or one that the key is not valid for (`is_elsewhere`)."""
    description = describe_item(ContentType.ARTICLE.value, (), None, False)
    facts = {**description.facts, **page_facts(url, None)}
    if is_elsewhere:
        facts["elsewhere"] = True
    return Item(
        id=pages_id,
        key=ids.id_to_hex("cnt", pages_id),
        policy=None,
        policy_key=None,
        **description._replace(facts=facts)._asdict(),
        is_elsewhere=is_elsewhere,
        urls=names,
    )


def observed_page(pages_id: str, url: str, names: tuple[str, ...]) -> Item:
    """Build a page on a host without a site that the account does not refuse."""
    page = refused_page(pages_id, url, names)
    return replace(page, mode=Mode.OBSERVE.value, facts={**page.facts, "mode": Mode.OBSERVE.value})


def page_facts(url: str, site: Site | None) -> dict[str, object]:
    """Return the recorded facts of a page. `url` has no query, which may contain private data."""
    facts: dict[str, object] = {"url": url} if site is None else {"url": url, "siteId": site.pk}
    return facts if site is None or site.mode == Mode.ENFORCE else {**facts, "mode": str(site.mode)}

"""Looking up what checks need: items with their compiled policies, and requesters. A fixed number of queries each."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from django.db.models import F

from accounts.models import Account
from config.api import ids
from licensing.decisions import CompiledPolicy
from licensing.facts import Item, KnownRequester
from licensing.models import Content, PolicyRevision, Requester, Status
from licensing.rules import parse_rules
from licensing.sources import source_key

COMPILED_POLICIES = 10_000

Selector = tuple[str, str]  # `contentId`, `externalId` or `source`, and its value


def current_epoch(account_id: str) -> int:
    """The account's epoch. Read it before what it is to vouch for."""
    return Account.objects.values_list("epoch", flat=True).get(pk=account_id)


@lru_cache(maxsize=COMPILED_POLICIES)
def compiled_policy(policy_id: str, version: int) -> CompiledPolicy:
    """A revision, compiled. It never changes, so what is cached is never stale."""
    revision = PolicyRevision.objects.get(policy_id=policy_id, version=version)
    return CompiledPolicy.of(policy_id, version, revision.default_action, parse_rules(revision.rules))


def item_of(content: Content) -> Item:
    policy = compiled_policy(content.policy_id, content.policy_version) if content.policy_id else None  # type: ignore[attr-defined]
    archived = content.status == Status.ARCHIVED
    known = {"contentType": content.type, "tags": content.tags, "category": content.category, "archived": archived}
    return Item(
        id=content.pk,
        key=ids.hex_of("cnt", content.pk),
        policy=policy,
        policy_key=ids.hex_of("pol", content.policy_id) if content.policy_id else None,
        facts={name: value for name, value in known.items() if value},
        content_type=content.type,
        tags=frozenset(content.tags),
        category=content.category,
        archived=archived,
    )


def find_items(account_id: str, selectors: Iterable[Selector]) -> dict[Selector, Item]:
    """The account's items by their selectors; of several at one URL the newest active one. Unknown ones are absent."""
    named: dict[str, set[str]] = {"contentId": set(), "externalId": set(), "source": set()}
    for name, value in selectors:
        named[name].add(value)
    columns = ("id", "type", "tags", "category", "status", "policy_id", "source_key", "external_id")
    owned = Content.objects.of(account_id).annotate(policy_version=F("policy__version")).only(*columns)
    found: dict[Selector, Item] = {}
    real_ids = [value for value in named["contentId"] if ids.decode("cnt", value) is not None]
    if real_ids:
        found |= {("contentId", item.pk): item_of(item) for item in owned.filter(pk__in=real_ids)}
    if named["externalId"]:
        items = owned.filter(external_id__in=named["externalId"])
        found |= {("externalId", item.external_id or ""): item_of(item) for item in items}
    if named["source"]:
        keys = {url: source_key(url) for url in named["source"]}
        at: dict[bytes, Content] = {}
        for item in owned.filter(source_key__in=set(keys.values())).order_by("created", "id"):
            key = bytes(item.source_key or b"")
            if key not in at or item.status == Status.ACTIVE or at[key].status != Status.ACTIVE:
                at[key] = item
        found |= {("source", url): item_of(at[key]) for url, key in keys.items() if key in at}
    return found


def find_requesters(account_id: str, wanted: Iterable[str]) -> dict[str, KnownRequester]:
    """The requesters by their own ids; an unknown one has no `pk`."""
    names = set(wanted)
    rows = Requester.objects.filter(account_id=account_id, requester_id__in=names)
    known = {row.requester_id: KnownRequester(row.pk, row.name) for row in rows}
    return {name: known.get(name, KnownRequester(None, None)) for name in names}


def keep_requesters(account_id: str, named: Mapping[str, str | None]) -> dict[str, KnownRequester]:
    """The same, writing those that are new or have a new name (None: no name was given)."""
    known = find_requesters(account_id, named)
    new = sorted(requester_id for requester_id, row in known.items() if row.pk is None)
    if new:
        Requester.objects.bulk_create(
            [Requester(account_id=account_id, requester_id=one, name=named[one]) for one in new],
            ignore_conflicts=True,
        )
        known |= find_requesters(account_id, new)
    for requester_id in sorted(known):
        name, row = named[requester_id], known[requester_id]
        if name is not None and row.name != name:
            Requester.objects.filter(account_id=account_id, requester_id=requester_id).update(name=name)
            known[requester_id] = KnownRequester(row.pk, name)
    return known

"""The items and sites that use a policy, and the permissions and condition values that policies name."""

from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from msgspec import Struct

from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.edge.audiences import join_words
from licensing.edge.proxies.downloads import GET_IT_AGAIN
from licensing.policies.describe_rule import RuleJson
from licensing.policies.models import Policy
from licensing.sites.models import Site, SiteRule
from operators.base.links import change_url, list_url, text_link

MAX_POLICIES = 1_000  # newest policies to read, which bounds the cost
MAX_NAMED_SITES = 10


class LinkedSite(Struct, frozen=True):
    """A site, and how many of its patterns use the policy."""

    id: str
    host: str
    patterns: int

    def __str__(self) -> str:
        return f"{self.host} ({count_text(self.patterns, 'pattern')})"

    @property
    def url(self) -> str:
        return change_url(Site(pk=self.id))


def linked_items(policy: Policy) -> QuerySet[Content]:
    """Return the items linked to the policy."""
    return Content.objects.of(policy.account_id).filter(policy_id=policy.pk)


def with_users(policies: QuerySet[Policy]) -> QuerySet[Policy]:
    """Annotate the numbers of `items` and `sites` that use each policy, and the `first_host` of these sites."""
    items = Content.objects.filter(policy_id=OuterRef("pk"), deleted_at=None).order_by()
    rules = SiteRule.objects.filter(policy_id=OuterRef("pk")).order_by()
    count_items = items.values("policy_id").annotate(number=Count("*"))  # uses an index-only scan
    count_sites = rules.values("policy_id").annotate(number=Count("site_id", distinct=True))
    return policies.annotate(
        items=Coalesce(Subquery(count_items.values("number")), 0),
        sites=Coalesce(Subquery(count_sites.values("number")), 0),
        first_host=Subquery(rules.order_by("site__host").values("site__host")[:1]),
    )


def linked_sites(policy: Policy) -> list[LinkedSite]:
    """Return the sites whose rules name the policy."""
    rows = policy.site_rules.values_list("site_id", "site__host").annotate(patterns=Count("pk"))
    return [LinkedSite(*row) for row in rows.order_by("site__host", "site_id")]


def effects_on_users(policy: Policy, takes_effect: str) -> list[str]:
    """Return sentences on what changes with the policy: its items, its sites, and their proxy files."""
    number, sites = linked_items(policy).count(), linked_sites(policy)
    if not sites:
        return [f"{items_sentence(number)}: {takes_effect}"]
    return [
        f"{items_sentence(number)}, and {sites_sentence(sites)}: {takes_effect}",
        f"If that makes a section stricter, the proxy files of these sites change. {GET_IT_AGAIN}",
    ]


def sites_sentence(sites: Sequence[LinkedSite]) -> str:
    """Return `2 sites use it for sections, a.example (1 pattern) and b.example (3 patterns)`."""
    words = [str(site) for site in sites[:MAX_NAMED_SITES]]
    if len(sites) > MAX_NAMED_SITES:
        words.append(f"{len(sites) - MAX_NAMED_SITES:,} more")
    return f"{count_text(len(sites), 'site uses it', 'sites use it')} for sections, {join_words(words)}"


def items_sentence(number: int) -> str:
    if number == 0:
        return "No item links to it"
    return count_text(number, "item links to it", "items link to it")


def items_linked(policy: Policy, number: int) -> str:
    """Return the sentence with a link to the items."""
    if number == 0:
        return items_sentence(number)
    return text_link(list_url(Content, policy__id__exact=policy.pk), items_sentence(number))


def known_rules(account_ids: Iterable[str]) -> Iterator[RuleJson]:
    """Yield the rules of the newest MAX_POLICIES."""
    policies = Policy.objects.filter(account__in=account_ids, deleted_at=None)
    for rules in policies.order_by("-pk").values_list("rules", flat=True)[:MAX_POLICIES]:
        yield from rules


def condition_values(rule: RuleJson, condition: str) -> list[str]:
    """Return the values of a condition in a rule; empty without it."""
    values = rule["conditions"].get(condition, [])
    return list(map(str, values if isinstance(values, list) else [values]))


def known_permissions(account_ids: Iterable[str]) -> set[str]:
    """Return permissions that rules grant or require, without `full_access`, which nobody requests."""
    names: set[str] = set()
    for rule in known_rules(account_ids):
        names.update(rule.get("permissions") or (), condition_values(rule, "permission"))
    return names - {"full_access"}

"""Database models of sites and their rules."""

from collections.abc import Collection
from functools import cached_property
from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models import Account, Unknown
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp
from licensing.content.models import Content
from licensing.policies.models import Policy
from licensing.policies.modes import CHOICES, Mode
from licensing.sites.patterns import RuleTable
from licensing.sites.refusal_texts import MAX_LINK_LABEL, MAX_LINK_URL, MAX_NAME, RefusalTexts, shared_texts


class AskedVisitors(models.TextChoices):
    """Which visitors a proxy asks about.

    CRAWLERS: crawlers, and people on pages that are not open to all people. EVERYONE: all visitors.
    """

    CRAWLERS = "crawlers"
    EVERYONE = "everyone"


class Site(models.Model):
    """A host whose pages are decided at the edge: by items registered under their URLs and by path patterns."""

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/sites?host=",)

    id = IdField("site", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="sites")
    host = models.CharField(max_length=253)  # see kit.values.hosts
    # Texts of the page for refused people (licensing.sites.refusal_page).
    name = models.CharField(max_length=MAX_NAME, null=True, blank=True)
    refusal_message = models.TextField(null=True, blank=True)
    link_url = models.CharField("link URL", max_length=MAX_LINK_URL, null=True, blank=True)
    link_label = models.CharField(max_length=MAX_LINK_LABEL, null=True, blank=True)
    mode = models.CharField(max_length=10, choices=CHOICES, default=Mode.OBSERVE.value)
    ask = models.CharField(
        "asks about",
        max_length=8,
        choices=AskedVisitors.choices,
        default=AskedVisitors.CRAWLERS,
        db_default=AskedVisitors.CRAWLERS,
    )
    # The publisher's own robots.txt, against which requests of crawlers are compared (licensing.visits.usage).
    robots_txt = models.TextField("robots.txt", null=True, blank=True)
    unknown = models.CharField("unknown pages", max_length=5, choices=Unknown.choices, default=Unknown.ALLOW)
    # Decisions about pages without a registered item are recorded under this item. It is stored as deleted: lists and
    # look-ups do not find it, but reports show its title.
    pages = models.OneToOneField(Content, on_delete=models.PROTECT, related_name="+", editable=False)
    # The latest download for each proxy, with the digest of what its file was made from
    # (licensing.edge.proxies.downloads).
    proxy_files = models.JSONField(null=True, blank=True, editable=False)
    # A proxy that was refused when it asked about the site, and the id of its key, if that is known
    # (licensing.sites.refused_proxies).
    refused_since = models.DateTimeField(null=True, blank=True, editable=False)
    refused_at = models.DateTimeField(null=True, blank=True, editable=False)
    refused_key = models.CharField(max_length=40, null=True, blank=True, editable=False)
    verified_at = models.DateTimeField(null=True, editable=False)  # see licensing.sites.verification
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "host"], name="one_site_per_host")]
        indexes = [
            models.Index(fields=["account", "-created", "-id"], name="sites_newest_first"),
            models.Index(fields=["host"], name="sites_by_host"),
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def ordered_aliases(self) -> list[str]:
        """The aliases in the given order; needs no query if they are prefetched."""
        return [alias.host for alias in sorted(self.aliases.all(), key=lambda alias: alias.pk)]

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The host and its aliases. For sites that are only read: it does not see later changes."""
        return (self.host, *self.ordered_aliases)

    @property
    def token_hosts(self) -> list[str]:
        """The hosts that tokens may name: verified ones, and those for which no other account has a site."""
        hosts = [alias for alias in self.ordered_aliases if not self.is_shared(alias)]
        if self.verified_at is not None or not self.is_shared(self.host):
            hosts.insert(0, self.host)
        return hosts

    def is_shared(self, host: str) -> bool:
        """Whether another site has the host, or has it as an alias."""
        return Site.objects.filter(at_hosts([host])).exclude(pk=self.pk).exists()

    @property
    def ordered_rules(self) -> "list[SiteRule]":
        """The rules in the given order; needs no query if they are prefetched."""
        return sorted(self.rules.all(), key=lambda rule: rule.position)

    @cached_property
    def rule_table(self) -> "RuleTable[SiteRule]":
        """The rules, ready to be matched with pages. For sites that are only read: it does not see later changes."""
        return RuleTable(self.ordered_rules)

    @property
    def rendered_rules(self) -> list[dict[str, object]]:
        return [render_rule(rule.pattern, rule.policy_id) for rule in self.ordered_rules]

    @property
    def refusal_texts(self) -> RefusalTexts:
        return shared_texts(self.name, self.refusal_message, self.link_url, self.link_label)

    def audited(self) -> dict[str, object]:
        return {
            "host": self.host,
            "name": self.name,
            "refusalMessage": self.refusal_message,
            "linkUrl": self.link_url,
            "linkLabel": self.link_label,
            "aliases": self.ordered_aliases,
            "mode": str(self.mode),
            "unknown": str(self.unknown),
            "ask": str(self.ask),
            "robotsTxt": self.robots_txt,
            "verifiedAt": render_timestamp(self.verified_at),
            "rules": self.rendered_rules,
        }


def at_hosts(hosts: Collection[str]) -> Q:
    """Return the condition that a site has one of the hosts, perhaps as an alias. Runs one query.

    It looks the aliases up first, so that the database can use its indexes for both.
    """
    site_ids = SiteAlias.objects.filter(host__in=hosts).values_list("site_id", flat=True)
    return Q(host__in=hosts) | Q(pk__in=list(site_ids))


def render_rule(pattern: str, policy_id: str | None) -> dict[str, object]:
    """Return a rule as the API shows it."""
    return {"pattern": pattern, "policyId": policy_id}


class SiteAlias(models.Model):
    """A further host of a site. Its pages are those of the site's host."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="aliases")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, related_name="+")
    host = models.CharField(max_length=253)  # see kit.values.hosts

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["account", "host"], name="one_site_per_alias")]
        indexes = [models.Index(fields=["host"], name="site_aliases_by_host")]

    def __str__(self) -> str:
        return self.host


class OtherHosts(models.Model):
    """The item under which visits are recorded of hosts without a site or hosts that the key does not cover.

    Like a site's, `pages` is stored as deleted. It is created after the first visit.
    """

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True, related_name="+")
    pages = models.OneToOneField(Content, on_delete=models.PROTECT, related_name="+")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"other hosts of {self.account_id}"


class SiteRule(models.Model):
    """A path pattern and the policy of its pages; without a policy they are treated as unknown pages."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField()
    pattern = models.TextField()  # see licensing.sites.patterns
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, null=True, related_name="site_rules")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "position"], name="one_site_rule_per_position")]

    def __str__(self) -> str:
        return self.pattern

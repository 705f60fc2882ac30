"""Lints the published terms of a site."""

from collections.abc import Iterator

from django.conf import settings
from msgspec import Struct

from licensing.edge.documents import revisions_of, site_at, terms_of_site
from licensing.edge.promises import READ, Promise, allowed_to_some, promised, spelled
from licensing.policies.modes import Mode
from licensing.sites.models import Site


class Finding(Struct, frozen=True):
    """A finding: `level` is `warning`, or `note` for an explanation; `pattern` is empty for the whole site."""

    level: str
    code: str
    pattern: str
    message: str


def lint_site(site: Site) -> list[Finding]:
    """Return the findings: those about the whole site first, then in the order of the rules."""
    return [*of_the_whole(site), *of_the_rules(site)]


def of_the_whole(site: Site) -> Iterator[Finding]:
    if Site.objects.filter(host=site.host).exclude(pk=site.pk).exists() and site_at(site.host, None) != site:
        yield Finding(
            "warning",
            "host_shared",
            "",
            "Another account has a site for this host: without the edge's key this site's documents are not served. "
            "Verify the host.",
        )
    if not any(rule.policy for rule in site.ordered_rules):
        yield Finding("warning", "no_terms", "", "No pattern has a policy, so the documents license nothing.")
    if site.mode != Mode.ENFORCE:
        yield Finding(
            "note", "not_enforced", "", f"The documents tell of the policies, and the site is in the mode {site.mode}."
        )
    if not settings.BASE_URL:
        yield Finding(
            "note",
            "no_base_url",
            "",
            "BASE_URL is not set: license.xml names a licence server only under hosts of ALLOWED_HOSTS.",
        )


def of_the_rules(site: Site) -> Iterator[Finding]:
    policies, told = revisions_of(site), {one.url: one.uses for one in terms_of_site(site)}
    for rule in site.ordered_rules:
        policy = policies.get(rule.policy_id)
        own, published = promised(policy), told[spelled(rule.pattern)[0]]
        if not published <= own:  # terms_of prevents this; checked all the same
            yield Finding("warning", "laxer_than_policy", rule.pattern, "The documents permit more than the policy.")
        if own - published:
            yield Finding(
                "note",
                "narrowed",
                rule.pattern,
                f"The policy allows {listed(own - published)} to everybody, and the documents do not say so: "
                "a registered item or another pattern of this length is stricter.",
            )
        unsaid = allowed_to_some(policy) - own
        if unsaid:
            yield Finding(
                "note",
                "stricter_than_policy",
                rule.pattern,
                f"The policy allows {listed(unsaid)} to some, at a price or within a limit, "
                "which the documents leave out.",
            )


def listed(uses: Promise) -> str:
    return ", ".join(sorted(uses - {READ}))

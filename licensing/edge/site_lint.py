"""Lints the published terms of a site."""

from collections.abc import Iterator, Mapping

from django.conf import settings
from django.utils import timezone
from msgspec import Struct

from accounts.models import Unknown
from licensing.crawler_classes import ADMITTED_BY_NAME, AUDIENCES, USES
from licensing.edge.publishing.documents import policies_by_id, site_at, terms_of_site
from licensing.edge.publishing.promises import READ, Promise, promised_uses, uses_any_rule_allows
from licensing.edge.publishing.published_patterns import pattern_spellings
from licensing.edge.publishing.published_terms import Terms
from licensing.edge.publishing.robots_txt import MUST_READ
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.lint import Finding as PolicyFinding
from licensing.policies.lint import lint
from licensing.policies.modes import Mode
from licensing.sites.lookup import is_own_host
from licensing.sites.models import Site
from licensing.sites.patterns import compile_pattern

# Findings about a policy that concern its terms: rules that never match and prices that nobody is offered.
POLICY_FINDINGS = frozenset(
    {"duplicate_rule", "unreachable_rule", "contradictory_conditions", "ended", "price_never_quoted"}
)
MAX_PAIRS = 20_000  # of rules compared for a site: two policies of 100 rules, or hundreds of ordinary ones
ASKED_AT_EDGE = frozenset({READ, *AUDIENCES, *ADMITTED_BY_NAME})  # the permissions that visitors of a site ask for


class Finding(Struct, frozen=True):
    """A finding: `level` is `warning`, or `note` for an explanation; `pattern` is empty for the whole site."""

    level: str
    code: str
    message: str
    pattern: str = ""


def lint_site(site: Site) -> list[Finding]:
    """Return the findings: those about the whole site first, then in the order of the rules."""
    return [*lint_whole_site(site), *lint_rules(site)]


def lint_whole_site(site: Site) -> Iterator[Finding]:
    if is_own_host(site.host):
        own = "This is a host of the service (ALLOWED_HOSTS, BASE_URL), so nothing is published for it."
        yield Finding("warning", "own_host", f"{own} Change the site's host.")
    elif Site.objects.filter(host=site.host).exclude(pk=site.pk).exists() and site_at(site.host, None) != site:
        message = (
            "Another account has a site for this host: without the edge's key this site's documents are not served, "
            "and until the host is verified no licence tokens are issued. Verify the host."
        )
        yield Finding("warning", "host_shared", message)
    shared = [alias for alias in site.ordered_aliases if site.is_shared(alias)]
    if shared:
        message = (
            f"Another account has a site for {', '.join(shared)}: without the edge's key this site's documents are "
            "not served there, and licence tokens do not name it."
        )
        yield Finding("warning", "alias_shared", message)
    if not any(rule.policy for rule in site.ordered_rules):
        yield Finding("warning", "no_terms", "No pattern has a policy, so the documents license nothing.")
    elif site.unknown == Unknown.ALLOW and not any(
        rule.policy and compile_pattern(rule.pattern).matches_every_path for rule in site.ordered_rules
    ):
        message = (
            "Pages without a policy are open, but nothing licenses them, so tdmrep.json reserves their mining. "
            "Add the pattern /* with a policy to publish what everybody may do with them."
        )
        yield Finding("note", "others_reserved", message)
    if site.mode != Mode.ENFORCE:
        message = f"The documents tell of the policies, and the site is in the mode {site.mode}."
        yield Finding("note", "not_enforced", message)
    if settings.BASE_URL.startswith("http://"):
        message = (
            "BASE_URL begins with http: crawlers request tokens, and read the documents, over https alone. "
            "Set it to the service's https address."
        )
        yield Finding("warning", "insecure_base_url", message)
    if not settings.BASE_URL:
        message = "BASE_URL is not set: license.xml names a licence server only under hosts of ALLOWED_HOSTS."
        yield Finding("note", "no_base_url", message)


def lint_rules(site: Site) -> Iterator[Finding]:
    policies, terms = policies_by_id(site), {entry.url: entry for entry in terms_of_site(site)}
    linted: dict[str | None, list[PolicyFinding] | None] = {}  # by policy; None beyond MAX_PAIRS
    pairs = 0
    for rule in site.ordered_rules:
        policy = policies.get(rule.policy_id)
        url = pattern_spellings(rule.pattern)[0]
        if policy is not None and url not in terms:
            message = "This pattern decides no page, because a longer one matches every page."
            yield Finding("warning", "pattern_never_decides", message, rule.pattern)
            continue
        stated = terms.get(url, Terms(url))
        promised, published = promised_uses(policy), stated.uses
        if not published <= promised:  # terms_of prevents this; checked all the same
            yield Finding("warning", "laxer_than_policy", "The documents permit more than the policy.", rule.pattern)
        if promised - published:
            message = (
                f"The policy allows {list_uses(promised - published)} to everybody, and the documents do not say so: "
                "crawlers may take this pattern for pages of a stricter pattern or item that is not longer."
            )
            yield Finding("note", "narrowed", message, rule.pattern)
        folder = open_without_slash(site, rule.pattern)
        if policy is not None and folder and promised != frozenset(USES):
            message = (
                f"{folder} without the slash matches no pattern: unless it is an item, it stays open. "
                f"If your origin shows text there, add the pattern {folder}$."
            )
            yield Finding("note", "open_without_slash", message, rule.pattern)
        if policy is not None:
            if policy.id not in linted:
                pairs += len(policy.rules) ** 2
                findings = lint(policy.rules, policy.default_action, timezone.now()) if pairs <= MAX_PAIRS else None
                linted[policy.id] = findings
            yield from lint_policy(rule.pattern, policy, linted[policy.id])
        omitted = uses_any_rule_allows(policy) - promised - stated.prices.keys()
        if omitted:
            message = (
                f"The policy allows {list_uses(omitted)} to some, at a price or within a limit, "
                "which the documents leave out."
            )
            yield Finding("note", "stricter_than_policy", message, rule.pattern)


def lint_sizes(documents: Mapping[str, bytes]) -> Iterator[Finding]:
    """Yield a warning if crawlers may leave the end of robots.txt unread."""
    size = len(documents.get("/robots.txt", b""))
    if size > MUST_READ:
        message = (
            f"robots.txt has {size:,} bytes, and crawlers such as Google's read the first {MUST_READ:,}. Those named "
            "at its end take the pages for open. Sell sections by patterns, instead of single pages by items."
        )
        yield Finding("warning", "robots_too_large", message)


def open_without_slash(site: Site, pattern: str) -> str:
    """Return `/premium` for the pattern `/premium/*` if it matches no pattern and is open; otherwise an empty text."""
    folder = pattern.removesuffix("*").removesuffix("/")
    if pattern not in (f"{folder}/", f"{folder}/*") or not folder or "*" in folder or site.unknown != Unknown.ALLOW:
        return ""
    [path] = compile_pattern(folder).parts
    return folder if site.rule_table.most_specific(path) is None else ""


def lint_policy(pattern: str, policy: CompiledPolicy, findings: list[PolicyFinding] | None) -> Iterator[Finding]:
    """Yield the rules that never match, in general or at a site, and the prices that nobody is offered."""
    if findings is None:
        message = "The site's policies have too many rules to look for rules that never match. Open the policy."
        yield Finding("note", "policy_not_linted", message, pattern)
    for finding in findings or ():
        if finding.code in POLICY_FINDINGS:
            yield Finding("warning", finding.code, f"{finding.path}: {finding.message}", pattern)
    for rule in policy.rules:
        permissions = rule.requested_permissions
        if permissions is not None and not ASKED_AT_EDGE.intersection(permissions):
            message = (
                f"rules[{rule.index}] never matches at a site, where visitors ask for {join_sorted(ASKED_AT_EDGE)}."
            )
            yield Finding("note", "never_asked", message, pattern)


def join_sorted(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


def list_uses(uses: Promise) -> str:
    return join_sorted(uses - {READ})

"""Operations on sites, used by endpoints and the admin."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.actors import SYSTEM, acting_as
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.resources import find
from licensing.content.models import Content
from licensing.content.services import keep_policies, unknown_policy
from licensing.sites.lookup import is_own_host
from licensing.sites.models import Site, SiteAlias, SiteRule, render_rule
from licensing.sites.verification import Evidence, dns_record, look_at_host


class RuleFields(TypedDict):
    pattern: str
    policy_id: str | None


def save_site(site: Site, fields: Mapping[str, Any], action: str, before: Mapping[str, object]) -> Site:
    """Save the site and, if given, its rules, unless nothing changes.

    Raises AlreadyExists if the account has a site with this host, and ValidationFailed if the host is the service's.
    """
    rules: Sequence[RuleFields] | None = fields.get("rules")
    aliases: Sequence[str] | None = fields.get("aliases")
    for name in fields.keys() - {"rules", "aliases"}:
        setattr(site, name, fields[name])
    is_new = site._state.adding
    former_aliases = [] if is_new else site.ordered_aliases
    if aliases is not None or before.get("host") != site.host:
        epochs.lock_epoch(site.account_id)  # so that no two sites take a host at once
        check_hosts(site, former_aliases if aliases is None else aliases)
    if before.get("host") != site.host:
        if is_own_host(site.host):
            raise ValidationFailed(
                f"{site.host} is a host of this service (ALLOWED_HOSTS, BASE_URL). Name the host of your site.",
                param="host",
            )
        site.verified_at = None
    if not is_new:
        new_rules = site.rendered_rules if rules is None else [render_rule(**rule) for rule in rules]
        new_aliases = former_aliases if aliases is None else list(aliases)
        if not audit.diff(before, {**site.audited(), "rules": new_rules, "aliases": new_aliases}):
            return site
        site.updated = timezone.now()
    if is_new:
        site.pages = Content(account_id=site.account_id, created=site.created, deleted_at=site.created)
    site.pages.title = f"Pages of {site.host}"
    site.pages.updated = site.updated
    try:
        with transaction.atomic():
            site.pages.save(force_insert=is_new)
            site.pages_id = site.pages.pk
            site.save(force_insert=is_new)
    except IntegrityError:
        others = Site.objects.filter(account_id=site.account_id, host=site.host).exclude(pk=site.pk)
        holder = others.values_list("pk", flat=True).first()
        if holder is None:
            raise
        raise AlreadyExists(f"There is a site with the host {site.host!r} already: {holder}.", param="host") from None
    if rules is not None:
        replace_rules(site, rules)
    if aliases is not None and list(aliases) != former_aliases:
        site.aliases.all().delete()
        SiteAlias.objects.bulk_create(SiteAlias(site=site, account_id=site.account_id, host=host) for host in aliases)
    audit.record(action, site, before)
    epochs.invalidate(site.account_id, epochs.EVERYTHING)
    return site


def check_hosts(site: Site, aliases: Sequence[str]) -> None:
    """Check that the hosts are the site's alone. Raises ValidationFailed and AlreadyExists."""
    others = Site.objects.filter(account_id=site.account_id).exclude(pk=site.pk)
    other_aliases = SiteAlias.objects.filter(account_id=site.account_id).exclude(site=site.pk)
    holder = other_aliases.filter(host=site.host).values_list("site_id", flat=True).first()
    if holder is not None:
        raise AlreadyExists(f"{site.host} is an alias of the site {holder} already.", param="host")
    for index, alias in enumerate(aliases):
        param = f"aliases[{index}]"
        if alias == site.host:
            raise ValidationFailed(f"{alias} is the site's host. Leave it out of its aliases.", param=param)
        if alias in aliases[:index]:
            raise ValidationFailed(f"{alias} is listed twice.", param=param)
        if is_own_host(alias):
            raise ValidationFailed(f"{alias} is a host of this service (ALLOWED_HOSTS, BASE_URL).", param=param)
        holder = others.filter(host=alias).values_list("pk", flat=True).first()
        holder = holder or other_aliases.filter(host=alias).values_list("site_id", flat=True).first()
        if holder is not None:
            raise AlreadyExists(f"The site {holder} has the host {alias} already.", param=param)


def replace_rules(site: Site, rules: Sequence[RuleFields]) -> None:
    known_policies = keep_policies(site.account_id, {rule["policy_id"] for rule in rules})
    for index, rule in enumerate(rules):
        if rule["policy_id"] is not None and rule["policy_id"] not in known_policies:
            raise unknown_policy(rule["policy_id"], f"rules[{index}].policyId")
    site.rules.all().delete()
    SiteRule.objects.bulk_create(SiteRule(site=site, position=index, **rule) for index, rule in enumerate(rules))


@transaction.atomic
def create_site(account_id: str, fields: Mapping[str, object]) -> Site:
    now = timezone.now()
    return save_site(Site(account_id=account_id, created=now, updated=now), fields, "site.created", {})


@transaction.atomic
def update_site(site: Site, fields: Mapping[str, object]) -> Site:
    sites = Site.objects.filter(account_id=site.account_id)
    locked = find(sites.select_for_update(), site.pk)  # it may have been deleted meanwhile
    before = locked.audited()
    return save_site(locked, fields, "site.updated", before)


def verify_now(site: Site) -> Site:
    """Fetch the site's record from its host and verify the site. May take seconds: call it outside transactions.

    Raises ValidationFailed if the record is missing.
    """
    return verify_site(site, async_to_sync(look_at_host)(site.host))


@transaction.atomic
def verify_site(site: Site, evidence: Evidence) -> Site:
    """Verify the site by the records found at its host. Raises ValidationFailed if the record is missing.

    Other sites of the host whose records are gone lose their verification.
    """
    sites_of_host = list(Site.objects.select_for_update().filter(host=evidence.host).order_by("pk"))
    locked = next((locked_site for locked_site in sites_of_host if locked_site.pk == site.pk), None)
    if locked is None:
        find(Site.objects.filter(account_id=site.account_id), site.pk)  # it may have been deleted meanwhile
        raise ValidationFailed("The host has changed meanwhile. Verify the new one.", param="host")
    record = dns_record(site.pk)
    if not evidence.proves(record):
        where = " ".join(location.finding for location in (evidence.file, evidence.txt))
        raise ValidationFailed(f"The record {record} was not found. {where}", param="host")
    for other in sites_of_host:
        if other.verified_at is not None and evidence.disproves(dns_record(other.pk)):
            with acting_as(SYSTEM):  # another account's log must not name this key
                set_verified(other, is_verified=False)
    if locked.verified_at is None:
        set_verified(locked, is_verified=True)
    return locked


def set_verified(site: Site, *, is_verified: bool) -> None:
    before = site.audited()
    site.updated = timezone.now()
    site.verified_at = site.updated if is_verified else None
    site.save(update_fields=["verified_at", "updated"])
    audit.record("site.updated", site, before)


@transaction.atomic
def delete_site(site: Site) -> None:
    """Delete the site. Decisions about its pages stay, and reports still show their title."""
    locked = Site.objects.select_for_update().filter(pk=site.pk).first()
    if locked is not None:
        before = locked.audited()
        pk = locked.pk
        locked.delete()
        locked.pk = pk
        audit.record("site.deleted", locked, before, {})
        epochs.invalidate(locked.account_id, epochs.EVERYTHING)

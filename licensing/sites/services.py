"""Operations on sites, for endpoints and the admin."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import AlreadyExists
from kit.rest.resources import find
from licensing.content.models import Content
from licensing.content.services import lock_policies, unknown_policy
from licensing.sites.models import Site, SiteRule, told_rule


class RuleFields(TypedDict):
    pattern: str
    policy_id: str | None


def save_site(site: Site, fields: Mapping[str, Any], action: str, before: Mapping[str, object]) -> Site:
    """Writes the site and, where given, its rules, unless nothing changes.

    Raises AlreadyExists for a host that the account has already.
    """
    rules: Sequence[RuleFields] | None = fields.get("rules")
    for name in fields.keys() - {"rules"}:
        setattr(site, name, fields[name])
    adding = site._state.adding
    if not adding:
        told = site.shown_rules if rules is None else [told_rule(**rule) for rule in rules]
        if not audit.changes(before, {**site.audited(), "rules": told}):
            return site
        site.updated = timezone.now()
    if adding:
        site.pages = Content(account_id=site.account_id, created=site.created, deleted_at=site.created)
    site.pages.title = f"Pages of {site.host}"
    site.pages.updated = site.updated
    try:
        with transaction.atomic():
            site.pages.save(force_insert=adding)
            site.pages_id = site.pages.pk
            site.save(force_insert=adding)
    except IntegrityError:
        others = Site.objects.filter(account_id=site.account_id, host=site.host).exclude(pk=site.pk)
        if not others.exists():
            raise
        raise AlreadyExists(f"There is a site with the host {site.host!r} already.", param="host") from None
    if rules is not None:
        replace_rules(site, rules)
    audit.record(action, site, before)
    epochs.bump(site.account_id, epochs.EVERYTHING)
    return site


def replace_rules(site: Site, rules: Sequence[RuleFields]) -> None:
    known = lock_policies(site.account_id, {rule["policy_id"] for rule in rules})
    for index, rule in enumerate(rules):
        if rule["policy_id"] is not None and rule["policy_id"] not in known:
            raise unknown_policy(rule["policy_id"], f"rules[{index}].policyId")
    site.rules.all().delete()
    SiteRule.objects.bulk_create(SiteRule(site=site, position=index, **rule) for index, rule in enumerate(rules))


@transaction.atomic
def create_site(account_id: str, fields: Mapping[str, object]) -> Site:
    now = timezone.now()
    return save_site(Site(account_id=account_id, created=now, updated=now), fields, "site.created", {})


@transaction.atomic
def update_site(site: Site, fields: Mapping[str, object]) -> Site:
    own = Site.objects.filter(account_id=site.account_id)
    locked = find(own.select_for_update(), site.pk)  # it may have gone meanwhile
    before = locked.audited()
    return save_site(locked, fields, "site.updated", before)


@transaction.atomic
def delete_site(site: Site) -> None:
    """Takes the site out of use. Decisions on its pages stay, and what reports call them."""
    locked = Site.objects.select_for_update().filter(pk=site.pk).first()
    if locked is not None:
        before = locked.audited()
        pk = locked.pk
        locked.delete()
        locked.pk = pk
        audit.record("site.deleted", locked, before, {})
        epochs.bump(locked.account_id, epochs.EVERYTHING)

"""What can be done with sites; endpoints and the admin both call these."""

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts import audit, epochs
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.resources import find
from kit.values import ids
from licensing.content.models import Content
from licensing.policies.models import Policy
from licensing.sites.models import Site, SiteRule, told_rule


def save_site(site: Site, fields: dict[str, Any], action: str, before: dict[str, Any]) -> Site:
    """Writes the site and, where given, its rules, unless nothing of it changes. Raises AlreadyExists for a host that
    the account has already."""
    fields = dict(fields)
    rules = fields.pop("rules", None)
    for name, value in fields.items():
        setattr(site, name, value)
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
    epochs.bump(site.account_id)
    return site


def replace_rules(site: Site, rules: Sequence[dict[str, Any]]) -> None:
    wanted = {rule["policy_id"] for rule in rules if rule["policy_id"] is not None}
    real = sorted(one for one in wanted if ids.decode("pol", one) is not None)
    # Locked, so that none can be deleted before the link is there.
    policies = Policy.objects.of(site.account_id).select_for_update().filter(pk__in=real).order_by("pk")
    known = {policy.pk for policy in policies}
    for index, rule in enumerate(rules):
        if rule["policy_id"] is not None and rule["policy_id"] not in known:
            raise ValidationFailed(f"There is no policy {rule['policy_id']!r}.", param=f"rules[{index}].policyId")
    site.rules.all().delete()
    SiteRule.objects.bulk_create(SiteRule(site=site, position=index, **rule) for index, rule in enumerate(rules))


@transaction.atomic
def create_site(account_id: str, fields: dict[str, Any]) -> Site:
    now = timezone.now()
    return save_site(Site(account_id=account_id, created=now, updated=now), fields, "site.created", {})


@transaction.atomic
def update_site(site: Site, fields: dict[str, Any]) -> Site:
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
        epochs.bump(locked.account_id)

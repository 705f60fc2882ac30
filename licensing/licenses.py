"""What can be done with licences; endpoints, commands and the admin all call these."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts import epochs
from config.api import ids
from config.api.errors import InUse, ValidationFailed
from licensing.models import Content, License, LicenseStatus, Policy, Requester

Fields = dict[str, Any]


def owned_licenses(account_id: str) -> QuerySet[License]:
    return License.objects.filter(account_id=account_id).select_related("requester")


@transaction.atomic
def issue_license(account_id: str, fields: Fields) -> License:
    """A new licence, for `requester_id` (the caller's own id), who comes into being by it if need be.

    `requester_name` sets the requester's name. Raises ValidationFailed.
    """
    now = timezone.now()
    fields = {"starts_at": now, **fields}
    requester = named_requester(account_id, fields.pop("requester_id"), fields.pop("requester_name", None))
    check_scope(account_id, fields)
    check_term(fields["starts_at"], fields.get("expires_at"))
    issued = License(account_id=account_id, requester=requester, created=now, updated=now, **fields)
    issued.save(force_insert=True)
    epochs.bump(account_id)
    return issued


@transaction.atomic
def update_license(held: License, fields: Fields) -> License:
    """Raises InUse for a revoked licence, and ValidationFailed."""
    locked = owned_licenses(held.account_id).select_for_update(of=("self",)).get(pk=held.pk)
    if locked.status == LicenseStatus.REVOKED:
        raise InUse("This licence is revoked, which is final. Issue a new one.")
    fields = dict(fields)
    name = fields.pop("requester_name", None)
    if name is not None:
        locked.requester = named_requester(locked.account_id, locked.requester.requester_id, name)
    check_scope(locked.account_id, fields)
    for attribute, value in fields.items():
        setattr(locked, attribute, value)
    check_term(locked.starts_at, locked.expires_at)
    locked.updated = timezone.now()
    locked.save()
    epochs.bump(locked.account_id)
    return locked


@transaction.atomic
def revoke_license(held: License) -> License:
    """Ends the licence at once, for good. To revoke it again changes nothing."""
    locked = owned_licenses(held.account_id).select_for_update(of=("self",)).get(pk=held.pk)
    if locked.status != LicenseStatus.REVOKED:
        locked.status = LicenseStatus.REVOKED
        locked.revoked_at = locked.updated = timezone.now()
        locked.save()
        epochs.bump(locked.account_id)
    return locked


def named_requester(account_id: str, requester_id: str, name: str | None) -> Requester:
    requester, _ = Requester.objects.get_or_create(
        account_id=account_id, requester_id=requester_id, defaults={"name": name}
    )
    if name is not None and requester.name != name:
        requester.name = name
        requester.save(update_fields=["name"])
    return requester


def check_term(starts_at: Any, expires_at: Any) -> None:
    if expires_at is not None and expires_at <= starts_at:
        raise ValidationFailed("A licence expires after it starts.", param="expiresAt")


def check_scope(account_id: str, fields: Fields) -> None:
    """Raises ValidationFailed, which names the first id that is none of the account's."""
    check_owned(Content.objects.of(account_id), "cnt", fields.get("content_ids"), "contentIds", "content item")
    check_owned(Policy.objects.of(account_id), "pol", fields.get("policy_ids"), "policyIds", "policy")


def check_owned(owned: QuerySet, prefix: str, named: list[str] | None, param: str, what: str) -> None:
    if not named:
        return
    real = {one for one in named if ids.decode(prefix, one) is not None}
    known = set(owned.filter(pk__in=real).values_list("pk", flat=True))
    for index, one in enumerate(named):
        if one not in known:
            raise ValidationFailed(f"There is no {what} {one[:100]!r}.", param=f"{param}[{index}]")

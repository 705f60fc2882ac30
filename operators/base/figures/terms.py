"""Licences, charges and amounts in words, and the order of licences."""

from collections.abc import Mapping
from decimal import Decimal

from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analytics.models import EntryType, LedgerEntry
from kit.values.currencies import in_full, round_to_minor_unit
from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.licenses.models import License, LicenseStatus
from operators.base.times import shown_time

NO_AMOUNT = "–"
MAX_SEARCHED = 10_000  # licences of an account to search, because their scopes have no index


def term_text(license_: License) -> SafeString:
    """Return HTML such as "from 2026-01-01 00:00 to 2026-12-31 00:00"."""
    if license_.expires_at is None:
        return format_html("from {} without end", shown_time(license_.starts_at))
    return format_html("from {} to {}", shown_time(license_.starts_at), shown_time(license_.expires_at))


def scope_text(license_: License) -> str:
    """Return text such as "3 items, 1 tag"."""
    parts = []
    if license_.content_ids:
        parts.append(count_text(len(license_.content_ids), "item"))
    if license_.tags:
        parts.append(count_text(len(license_.tags), "tag"))
    if license_.policy_ids:
        parts.append(count_text(len(license_.policy_ids), "policy", "policies"))
    return ", ".join(parts) or "everything"


def money_text(amount: Decimal | None, currency: str | None) -> str:
    if amount is None or currency is None:
        return NO_AMOUNT
    return in_full(amount, currency)


def price_text(license_: License) -> str:
    return money_text(license_.price_amount, license_.price_currency)


def access_price_text(license_: License) -> str:
    return money_text(license_.access_amount, license_.access_currency)


def minor_units(amount: Decimal, currency: str) -> str:
    """Return the amount rounded to the currency's places, without the currency."""
    return f"{round_to_minor_unit(amount, currency):,f}"


def format_sums(sums: Mapping[str, Decimal]) -> str:
    return ", ".join(in_full(amount, currency) for currency, amount in sorted(sums.items()))


def fee_text(license_: License) -> str:
    """Return text such as "50.00 EUR every month"."""
    if license_.fee_amount is None:
        return NO_AMOUNT
    return f"{money_text(license_.fee_amount, license_.fee_currency)} every {license_.fee_every}"


def standing_first(licenses: QuerySet[License]) -> QuerySet[License]:
    """Sort active licences by expiry, then ended ones, the last ended first."""
    ended = Case(
        When(status=LicenseStatus.REVOKED, then=Value(1)),
        When(expires_at__lte=timezone.now(), then=Value(1)),
        default=Value(0),
        output_field=IntegerField(),
    )
    end = Case(When(ended=0, then=F("expires_at")))
    by_end = (end.asc(nulls_last=True), F("expires_at").desc(nulls_last=True))
    return licenses.annotate(ended=ended).order_by("ended", *by_end, "-pk")


def covering_licenses(item: Content) -> QuerySet[License]:
    """Return the active licences that cover an item, by expiry, among the newest MAX_SEARCHED."""
    newest = License.objects.filter(account_id=item.account_id).order_by("-created", "-pk")[:MAX_SEARCHED]
    covers_item = Q(content_ids=[], tags=[], policy_ids=[]) | Q(content_ids__has=item.pk)
    for tag in item.tags:
        covers_item |= Q(tags__has=tag)
    if item.policy_id:
        covers_item |= Q(policy_ids__has=item.policy_id)
    active = Q(status=LicenseStatus.ACTIVE) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    licenses = License.objects.filter(active, covers_item, pk__in=newest.values("pk")).select_related("requester")
    return licenses.order_by(F("expires_at").asc(nulls_last=True), "-pk")


def describe_charge(entry: LedgerEntry) -> str:
    if entry.type == EntryType.FEE:
        return f"Fee of the licence {entry.license_type}"
    if entry.type == EntryType.ADJUSTMENT:
        return entry.description or "Charge"
    if entry.decision_id is None:
        return f"Price of the licence {entry.license_type}"
    return f"Access to {entry.content.title}" if entry.content is not None else "Access to a deleted item"

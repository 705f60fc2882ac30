"""The preview beside the form of a licence."""

from copy import copy
from decimal import Decimal

from django.http import QueryDict
from django.utils import timezone

from accounts.models import Account
from kit.values import ids
from kit.values.currencies import in_full
from licensing.content.models import Content
from licensing.licenses.charges import build_ledger_entry, charged_terms
from licensing.licenses.fees import schedule_fee, take_due_fees
from licensing.licenses.models import FeeEvery, License
from licensing.requesters.models import Requester
from operators.base.fields import AmountField
from operators.base.figures.terms import fee_text
from operators.base.times import time_in_words
from operators.customers.quotas import Quota, changed_quota
from operators.licenses.effects import describe_access_price, describe_coverage, describe_moment, type_warnings
from operators.licenses.form import LicenseForm

SHOWN_TITLES = 3


def build_preview(account: Account, license_: License | None, submitted: QueryDict) -> dict[str, list[str]]:
    """Build the preview, without incomplete input; `license_` is the existing licence, None for a new one."""
    data = {name: str(text).replace("\0", "") for name, text in submitted.items()}
    form = LicenseForm(data, instance=license_, initial={} if license_ is None else {"starts_at": license_.starts_at})
    form.is_valid()
    drafted = draft_license(account, license_, form)
    quota = Quota.from_fields(form.cleaned_data)
    sentences = []
    requester_id = form.cleaned_data.get("requester_own_id")
    if license_ is None and requester_id:
        sentences.append(preview_holder(account, requester_id))
    sentences.append(preview_coverage(drafted))
    sentences += preview_bookings(license_, drafted)
    sentences += describe_access_price(None, drafted)
    if drafted.access_amount:
        sentences += changed_quota(license_, drafted)
    if drafted.fee_amount is not None and drafted.fee_every in FeeEvery.values:
        sentences += preview_fee(license_, drafted)
    if quota is not None:
        sentences += quota.in_words()
    warnings = unreadable_amounts(form)
    if drafted.license_type:
        warnings += type_warnings(license_, drafted)
    return {"sentences": sentences, "warnings": warnings}


def preview_holder(account: Account, requester_id: str) -> str:
    """Name the customer that gets the licence: of a merged one, the one that it was merged into."""
    named = Requester.objects.filter(account=account, requester_id=requester_id).select_related("merged_into").first()
    if named is None:
        return f"New customer: {requester_id}."
    holder = named.current
    if holder.name:
        return f"Customer: {holder.name} ({holder.requester_id})."
    return f"Customer: {holder.requester_id}."


def unreadable_amounts(form: LicenseForm) -> list[str]:
    """Return the errors of amounts that were typed: the sentences leave these amounts out."""
    return [
        f"{form[name].label}: {error}"
        for name, field in form.fields.items()
        if isinstance(field, AmountField) and form.data.get(name)
        for error in form.errors.get(name, [])
    ]


def preview_fee(license_: License | None, drafted: License) -> list[str]:
    """Describe from when the fee is charged, and how many periods of a new licence are charged now."""
    fee = f"The fee of {fee_text(drafted)} is charged in advance"
    if license_ is not None:
        end, next_fee_at = drafted.expires_at, license_.next_fee_at
        if end is not None and next_fee_at is not None and end <= next_fee_at:
            return ["No further fee is charged. What was charged in advance stays: refund it at the fee."]
        return [f"{fee}, from the next period."]
    planned = copy(drafted)
    planned.updated = now = timezone.now()
    schedule_fee(planned, None, now)
    due = take_due_fees(planned, now)
    sentences = [f"{fee}, from {time_in_words(drafted.starts_at)}."]
    if len(due) > 1:
        total = sum((entry.amount for entry in due), Decimal(0))
        sentences.append(f"{len(due)} fees are due: {in_full(total, due[0].currency)} are booked now.")
    return sentences


def draft_license(account: Account, license_: License | None, form: LicenseForm) -> License:
    """Return the licence with the form's valid values; amounts only with their currencies."""
    drafted = License(account=account) if license_ is None else copy(license_)
    cleaned = form.cleaned_data
    drafted.license_type = cleaned.get("license_type", "")
    drafted.fee_every = cleaned.get("fee_every") or None
    drafted.content_ids = [id for id in cleaned["content_ids"] if ids.decode("cnt", id) is not None]
    drafted.policy_ids = [id for id in cleaned["policy_ids"] if ids.decode("pol", id) is not None]
    drafted.tags = cleaned["tags"]
    if license_ is None or "starts_at" in form.changed_data:  # the form shows no microseconds
        drafted.starts_at = cleaned.get("starts_at") or timezone.now()
    drafted.expires_at = cleaned.get("expires_at")
    for name in ("price", "access", "fee"):
        amount = cleaned.get(f"{name}_amount")
        currency = cleaned.get(f"{name}_currency")
        if amount is None or currency is None:
            amount = currency = None
        if amount is not None and amount < 0:
            amount = currency = None  # which saving refuses
        setattr(drafted, f"{name}_amount", amount)
        setattr(drafted, f"{name}_currency", currency)
    return drafted


def preview_coverage(drafted: License) -> str:
    """Describe the coverage, with the titles of single items."""
    coverage = f"Covers {describe_coverage(drafted)}"
    items = Content.objects.of(drafted.account_id).filter(pk__in=drafted.content_ids[:SHOWN_TITLES])
    titles = list(items.values_list("title", flat=True))
    if not titles:
        return f"{coverage}."
    more = len(drafted.content_ids) - len(titles)
    others = f" and {more:,} more" if more else ""
    return f"{coverage}: {', '.join(titles)}{others}."


def preview_bookings(license_: License | None, drafted: License) -> list[str]:
    """Describe the ledger entries, as licensing.licenses.charges.keep_books will write them."""
    before = None if license_ is None else build_ledger_entry(license_)
    after = build_ledger_entry(drafted)
    if charged_terms(before) == charged_terms(after):
        return []
    sentences = []
    if before is not None:
        sentences.append(f"{in_full(-before.amount, before.currency)} is booked: the former price is taken back.")
    if after is not None:
        sentences.append(f"{in_full(after.amount, after.currency)} is booked {describe_moment(after.occurred_at)}.")
    return sentences

"""The preview beside the form of a licence, in the words of the confirmation."""

from copy import copy

from django.http import QueryDict
from django.utils import timezone
from msgspec import Struct

from accounts.models import Account
from kit.values import ids
from kit.values.currencies import in_full
from licensing.content.models import Content
from licensing.licenses.charges import build_ledger_entry, terms
from licensing.licenses.models import FeeEvery, License
from licensing.requesters.models import Requester
from operators.base.figures.terms import fee
from operators.customers.quotas import Quota
from operators.licenses.form import LicenseForm
from operators.licenses.question import describe_access_price, describe_coverage, describe_moment, type_warnings

SHOWN_TITLES = 3


class Preview(Struct, frozen=True):
    sentences: list[str]
    warnings: list[str]


def build_preview(account: Account, license_: License | None, submitted: QueryDict) -> Preview:
    """Build the preview, without incomplete input; `license_` is the existing licence, None for a new one."""
    data = {name: str(text).replace("\0", "") for name, text in submitted.items()}
    form = LicenseForm(data, instance=license_, initial={} if license_ is None else {"starts_at": license_.starts_at})
    form.is_valid()
    drafted = draft_license(account, license_, form)
    quota = Quota.from_fields(form.cleaned_data)
    sentences = []
    requester_id = form.cleaned_data.get("requester_own_id")
    if license_ is None and requester_id:
        requester = Requester.objects.filter(account=account, requester_id=requester_id).first()
        sentences.append(f"New customer: {requester_id}.")
        if requester is not None and requester.name:
            sentences = [f"Customer: {requester.name} ({requester_id})."]
        elif requester is not None:
            sentences = [f"Customer: {requester_id}."]
    sentences.append(preview_coverage(drafted))
    sentences += preview_bookings(license_, drafted)
    sentences += describe_access_price(None, drafted)
    if drafted.fee_amount is not None and drafted.fee_every in FeeEvery.values:
        begin = "from the next period" if license_ else f"from {describe_moment(drafted.starts_at)}"
        sentences.append(f"The fee of {fee(drafted)} is charged in advance, {begin}.")
    if quota is not None:
        sentences += quota.in_words()
    return Preview(sentences, type_warnings(license_, drafted) if drafted.license_type else [])


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
    for name in ("price", "access", "fee"):
        amount = cleaned.get(f"{name}_amount")
        currency = cleaned.get(f"{name}_currency")
        if amount is None or currency is None:
            amount = currency = None
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
    if terms(before) == terms(after):
        return []
    sentences = []
    if before is not None:
        sentences.append(f"{in_full(-before.amount, before.currency)} is booked: the former price is taken back.")
    if after is not None:
        sentences.append(f"{in_full(after.amount, after.currency)} is booked {describe_moment(after.occurred_at)}.")
    return sentences

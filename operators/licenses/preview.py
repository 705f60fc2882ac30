"""Previews the effects of saving a licence's form while it is filled in. Ignores incomplete input."""

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from decimal import Decimal

from django import forms
from django.http import QueryDict
from django.utils import timezone
from msgspec import Struct

from accounts.models import Account
from kit.values import ids
from kit.values.currencies import MINOR_UNITS, in_full
from licensing.content.models import Content
from licensing.licenses.charges import build_ledger_entry, terms
from licensing.licenses.models import FeeEvery, License
from licensing.requesters.models import Requester
from operators.base.fields import Amount, lines
from operators.base.figures.terms import fee
from operators.base.times.field import Moment
from operators.customers.quotas import Quota, QuotaFields
from operators.licenses.question import describe_coverage, describe_moment, type_warnings

SHOWN_TITLES = 3


class Preview(Struct, frozen=True):
    sentences: list[str]
    warnings: list[str]


def preview(account: Account, held: License | None, submitted: QueryDict) -> Preview:
    """Build the preview; `held` is the existing licence, None for a new one."""
    data = {name: value.replace("\0", "") for name, value in submitted.items() if isinstance(value, str)}
    drafted = draft(account, held, data)
    sentences = [] if held is not None else customer(account, data.get("requester_own_id", "").strip())
    sentences += [coverage(drafted), *bookings(held, drafted), *charges(drafted), *fees(held, drafted), *quota(data)]
    return Preview(sentences, type_warnings(held, drafted) if drafted.license_type else [])


def draft(account: Account, held: License | None, data: Mapping[str, str]) -> License:
    drafted = copy(held) if held is not None else License(account=account)
    drafted.license_type = data.get("license_type", "").strip()
    drafted.content_ids = those("cnt", data.get("content_ids", ""))
    drafted.tags = lines(data.get("tags", ""))
    drafted.policy_ids = those("pol", data.get("policy_ids", ""))
    now = timezone.now()
    stored = held.starts_at if held is not None else now
    drafted.starts_at = moment(data, "starts_at") or stored
    if held is not None and f"{stored:%Y-%m-%d %H:%M:%S}" == f"{drafted.starts_at:%Y-%m-%d %H:%M:%S}":
        drafted.starts_at = stored  # the form shows no microseconds
    drafted.price_amount, drafted.price_currency = money(data, "price")
    drafted.access_amount, drafted.access_currency = money(data, "access")
    drafted.fee_amount, drafted.fee_currency = money(data, "fee")
    drafted.fee_every = data.get("fee_every") or None
    return drafted


def those(prefix: str, text: str) -> list[str]:
    """Return the lines that are valid ids."""
    return [line for line in lines(text) if ids.decode(prefix, line) is not None]


def money(data: Mapping[str, str], name: str) -> tuple[Decimal | None, str | None]:
    currency = data.get(f"{name}_currency", "")
    try:
        amount = Amount(required=False).clean(data.get(f"{name}_amount", ""))
    except forms.ValidationError:
        amount = None
    return (amount, currency) if amount is not None and currency in MINOR_UNITS else (None, None)


def moment(data: Mapping[str, str], name: str) -> datetime | None:
    day, at = data.get(f"{name}_0", ""), data.get(f"{name}_1", "")
    try:
        return Moment().clean([day, at] if day else ["", ""])
    except forms.ValidationError:
        return None


def customer(account: Account, requester_id: str) -> list[str]:
    if not requester_id:
        return []
    known = Requester.objects.filter(account=account, requester_id=requester_id).first()
    if known is None:
        return [f"New customer: {requester_id}."]
    return [f"Customer: {known.name} ({requester_id})." if known.name else f"Customer: {requester_id}."]


def coverage(drafted: License) -> str:
    """Describe the coverage, with the titles of single items."""
    named = Content.objects.of(drafted.account_id).filter(pk__in=drafted.content_ids[:SHOWN_TITLES])
    titles = list(named.values_list("title", flat=True)) if drafted.content_ids else []
    more = len(drafted.content_ids) - len(titles)
    titles_in_words = f": {', '.join(titles)}{f' and {more:,} more' if more else ''}" if titles else ""
    return f"Covers {describe_coverage(drafted)}{titles_in_words}."


def bookings(held: License | None, drafted: License) -> list[str]:
    """Describe the ledger entries, as licensing.licenses.charges.keep_books will write them."""
    before, after = build_ledger_entry(held) if held is not None else None, build_ledger_entry(drafted)
    if terms(before) == terms(after):
        return []
    sentences = []
    if before is not None:
        sentences.append(f"{in_full(-before.amount, before.currency)} is booked: the former price is taken back.")
    if after is not None:
        sentences.append(f"{in_full(after.amount, after.currency)} is booked {describe_moment(after.occurred_at)}.")
    return sentences


def charges(drafted: License) -> list[str]:
    if drafted.access_amount is None or not drafted.access_currency:
        return []
    return [f"Each access that it allows is charged {in_full(drafted.access_amount, drafted.access_currency)}."]


def fees(held: License | None, drafted: License) -> list[str]:
    """Describe a new or changed fee."""
    if drafted.fee_amount is None or drafted.fee_every not in FeeEvery.values:
        return []
    begin = f"from {describe_moment(drafted.starts_at)}" if held is None else "from the next period"
    return [f"The fee of {fee(drafted)} is charged in advance, {begin}."]


def quota(data: Mapping[str, str]) -> list[str]:
    form = QuotaFields(data)
    form.is_valid()
    price, currency = money(data, "access")
    quota = Quota.from_fields({**form.cleaned_data, "access_amount": price, "access_currency": currency})
    return [] if quota is None else quota.in_words()

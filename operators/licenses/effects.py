"""The effects of saving a licence: the preview beside its form, and the confirmation before it is saved."""

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches

from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from accounts.models import Account
from analytics.models import LedgerEntry
from kit.values import ids
from kit.values.currencies import in_full
from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.edge.visitors import ANONYMOUS, can_be_charged
from licensing.licenses.charges import build_ledger_entry, charged_terms
from licensing.licenses.fees import schedule_fee, short_period, take_due_fees
from licensing.licenses.models import FeeEvery, License
from licensing.requesters.models import Requester
from operators.base.fields import AmountField
from operators.base.figures.terms import NO_AMOUNT, access_price_text, fee_text, price_text, term_text
from operators.base.forms.confirmed_form import FormConfirmation
from operators.base.times import time_in_words
from operators.customers.quotas import Quota, changed_quota
from operators.licenses.form import LicenseForm
from operators.policies.linked_items import condition_values, known_rules

# Reading only the newest licences bounds the cost.
MAX_LICENSES, MAX_SUGGESTED = 5_000, 100
MAX_COUNTED = 10_000  # items
NOW_SECONDS = 60


def types_in_policies(account_ids: Iterable[str]) -> set[str]:
    """Return the licence types named in rules of the accounts' policies."""
    license_types: set[str] = set()
    for rule in known_rules(account_ids):
        license_types.update(condition_values(rule, "licenseType"))
    return license_types


def known_types(account_ids: Iterable[str]) -> list[str]:
    """Return the types in policies and in licences."""
    accounts = list(account_ids)
    newest = License.objects.filter(account__in=accounts).order_by("-pk").values("license_type")[:MAX_LICENSES]
    issued_types = {row["license_type"] for row in newest}
    return sorted(types_in_policies(accounts) | issued_types)[:MAX_SUGGESTED]


def type_warnings(before: License | None, saved: License) -> list[str]:
    """Warn about a new type that no policy asks for, if policies ask for any."""
    if before is not None and before.license_type == saved.license_type:
        return []
    requested = types_in_policies([saved.account_id])
    if not requested or saved.license_type in requested:
        return []
    near = get_close_matches(saved.license_type, sorted(requested), n=1, cutoff=0.7)
    suggestion = f"Did you mean {near[0]}?" if near else f"They ask for {', '.join(sorted(requested)[:10])}."
    return [
        f"No rule uses the licence type {saved.license_type}: no rule that wants a type matches by it. {suggestion}"
    ]


def holder_warnings(before: License | None, saved: License) -> list[str]:
    """Warn of a new licence for visitors who prove nothing."""
    holder = saved.requester.requester_id
    if before is not None or can_be_charged(holder):
        return []
    everybody = "Every visitor whom nothing identifies" if holder == ANONYMOUS else "Whoever sends this User-Agent"
    return [f"{everybody} is {holder}: this licence opens what it covers to all of them."]


def describe_bookings(saved: License, known_entries: set[str]) -> list[str]:
    """Describe the ledger entries of a save; `known_entries` are the ids of earlier ones."""
    sentences = []
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for entry in LedgerEntry.objects.filter(license=saved).exclude(pk__in=known_entries).order_by("pk"):
        end = ", which takes back what was booked." if entry.amount < 0 else "."
        sentences.append(
            f"{in_full(entry.amount, entry.currency)} is booked {describe_moment(entry.occurred_at)}{end}"
        )
        totals[entry.currency] += entry.amount
    if len(sentences) > len(totals):
        sums = " and ".join(in_full(total, currency) for currency, total in sorted(totals.items()))
        sentences.append(f"Together {sums}.")
    if sentences:
        sentences.append("Entries cannot be changed. Correct a mistake with another entry.")
    return sentences


def describe_moment(moment: datetime) -> str:
    """Return `now`, or the minute at which an entry counts."""
    if abs((moment - timezone.now()).total_seconds()) < NOW_SECONDS:
        return "now"
    return f"as of {time_in_words(moment)}"


def describe_access_price(before: License | None, saved: License) -> list[str]:
    """Describe a new, changed or ended price per access."""
    former_price = NO_AMOUNT if before is None else access_price_text(before)
    if former_price == access_price_text(saved):
        return []
    if saved.access_amount is None:
        return ["It charges nothing per access any more."]
    return [f"Each access that it allows is charged {access_price_text(saved)}."]


def describe_fee(before: License | None, saved: License) -> list[str]:
    """Describe a new, changed or ended fee."""
    former_fee = NO_AMOUNT if before is None else fee_text(before)
    if former_fee == fee_text(saved):
        return []
    if saved.fee_amount is None:
        return ["No further fee is charged."]
    following = f" The next fee is due on {time_in_words(saved.next_fee_at)}." if saved.next_fee_at else ""
    short = short_period(saved)
    full = f" It is charged in full for the last period, too: {short}." if short else ""
    return [f"The fee of {fee_text(saved)} is charged in advance.{following}{full}"]


def describe_coverage(license_: License) -> str:
    """Describe how many items a licence currently covers."""
    if not (license_.content_ids or license_.tags or license_.policy_ids):
        return "everything"
    is_covered = Q(pk__in=license_.content_ids) | Q(policy_id__in=license_.policy_ids)
    for tag in license_.tags:
        is_covered |= Q(tags__has=tag)
    number = (
        Content.objects.of(license_.account_id).filter(is_covered).order_by().values("pk")[: MAX_COUNTED + 1].count()
    )
    if number > MAX_COUNTED:
        return f"more than {MAX_COUNTED:,} items"
    return count_text(number, "item")


def license_confirmation(
    before: License | None, saved: License, known_entries: set[str], quota: Quota | None, *, is_new: bool
) -> FormConfirmation | None:
    """Return what to ask, or None for nothing. `is_new`: saving creates the requester."""
    effects = describe_bookings(saved, known_entries) + describe_access_price(before, saved)
    effects += changed_quota(before, saved) + describe_fee(before, saved)
    if quota is not None:
        effects += quota.in_words()
    warnings = holder_warnings(before, saved) + type_warnings(before, saved)
    if not (effects or warnings):
        return None
    requester: Requester = saved.requester
    customer = requester.requester_id
    if requester.name:
        customer = f"{requester.name}, id {customer}"
    if is_new:
        customer += " (new)"
    return FormConfirmation(
        title="Issue this licence?" if before is None else f"Change the licence of {requester}?",
        facts=[
            ("Account", str(saved.account)),
            ("Customer", customer),
            ("Licence type", saved.license_type),
            ("Covers", describe_coverage(saved)),
            ("Term", term_text(saved)),
            ("Price", price_text(saved)),
            ("Fee", fee_text(saved)),
            ("Per access", access_price_text(saved)),
        ],
        effects=[*effects, applies_from(saved)],
        warnings=warnings,
        button="Issue it" if before is None else "Save it",
    )


def applies_from(license_: License) -> str:
    if license_.starts_at > timezone.now():
        return f"It applies from {time_in_words(license_.starts_at)} on."
    return "It applies from the next check on."


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
    if license_ is not None and license_.next_fee_at and has_ended(drafted, license_.next_fee_at):
        return ["No further fee is charged. What was charged in advance stays: refund it at the fee."]
    if license_ is not None:
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


def has_ended(license_: License, moment: datetime) -> bool:
    return license_.expires_at is not None and license_.expires_at <= moment


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

"""The effects of saving a licence, in the confirmation before it is saved."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches

from django.db.models import Q
from django.utils import timezone

from analytics.models import LedgerEntry
from kit.values.currencies import in_full
from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.edge.visitors import ANONYMOUS, can_be_charged
from licensing.licenses.fees import short_period
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester
from operators.base.figures.terms import NO_AMOUNT, access_price_text, fee_text, price_text, term_text
from operators.base.forms.confirmed_form import FormConfirmation
from operators.base.times import time_in_words
from operators.customers.adjustment_form import statement_in_words
from operators.customers.quotas import Quota, changed_quota
from operators.policies.linked_items import condition_values, known_rules

# Reading only the newest licences bounds the cost.
MAX_LICENSES, MAX_SUGGESTED = 5_000, 100
MAX_COUNTED = 10_000  # items
NOW_SECONDS = 60
MAX_COMPARED = 100  # licences of a customer
EARLIER = (
    "The licence {0} ({1}) started earlier and covers the same items. Until it ends, accesses are charged by it, and "
    "spend no quota of this one{2}."
)


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


def earlier_license_warnings(saved: License, *, has_quota: bool) -> list[str]:
    """Warn of a new licence beside one that started first: accesses are charged by that one, and spend its quota."""
    others = active_licenses(License.objects.filter(requester=saved.requester_id), saved.starts_at)
    first = others.filter(starts_at__lt=saved.starts_at).exclude(pk=saved.pk).order_by("starts_at", "pk")
    overlapping = [
        one
        for one in first[:MAX_COMPARED]
        if share_items(one, saved) and (has_quota or one.access_amount or saved.access_amount)
    ]
    of_type = [one for one in overlapping if one.license_type == saved.license_type]
    if of_type:
        return [EARLIER.format(of_type[0], term_text(of_type[0]), "")]
    unless = f", unless the rule asks for {saved.license_type}"
    return [EARLIER.format(one, term_text(one), unless) for one in overlapping[:1]]


def share_items(one: License, other: License) -> bool:
    """Whether two licences may cover the same item, as far as their scopes tell."""
    scopes = [(one.content_ids, other.content_ids), (one.tags, other.tags), (one.policy_ids, other.policy_ids)]
    covers_everything = not any(first for first, _ in scopes) or not any(second for _, second in scopes)
    return covers_everything or any({*first} & {*second} for first, second in scopes)


def describe_bookings(saved: License, known_entries: set[str]) -> list[str]:
    """Describe the ledger entries of a save; `known_entries` are the ids of earlier ones."""
    sentences = []
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    booked = LedgerEntry.objects.filter(license=saved).exclude(pk__in=known_entries).order_by("pk")
    entries = list(booked.select_related("account", "requester"))
    for entry in entries:
        end = ", which takes back what was booked." if entry.amount < 0 else "."
        sentences.append(
            f"{in_full(entry.amount, entry.currency)} is booked {describe_moment(entry.occurred_at)}{end}"
        )
        totals[entry.currency] += entry.amount
    if len(sentences) > len(totals):
        sums = " and ".join(in_full(total, currency) for currency, total in sorted(totals.items()))
        sentences.append(f"Together {sums}.")
    for entry in {entry.currency: entry for entry in entries}.values():
        if total := totals[entry.currency]:
            sentences.append(statement_in_words(entry, total))
    sentences += earlier_revenue(entries)
    if sentences:
        sentences.append("Entries cannot be changed. Correct a mistake with another entry.")
    return sentences


def earlier_revenue(entries: Iterable[LedgerEntry]) -> list[str]:
    """Say which months before that of the statement have another revenue."""
    earlier = set()
    for entry in entries:
        month_of = entry.account.months.month_of
        month = month_of(entry.occurred_at)
        if month < month_of(entry.created):
            earlier.add(f"{month:%Y-%m}")
    if not earlier:
        return []
    return [f"Revenue of {', '.join(sorted(earlier))} changes: it counts at the times above."]


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
    if before is None:
        warnings += earlier_license_warnings(saved, has_quota=quota is not None)
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

"""The confirmation before saving a licence: coverage, bookings, and a warning about unknown types."""

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches

from django.db.models import Q
from django.utils import timezone

from analytics.models import LedgerEntry
from kit.values.currencies import in_full
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.figures.terms import fee, money, term
from operators.base.forms.asking import Question
from operators.base.times.shown import time_in_words
from operators.customers.quotas import Quota
from operators.policies.known_permissions import asked_for, known_rules

# Reading only the newest licences bounds the cost.
MOST_LICENSES, MOST_SUGGESTED = 5_000, 100
MOST_COUNTED = 10_000  # items
NOW = 60  # seconds


def types_asked_for(account_ids: Iterable[str]) -> set[str]:
    """Return the licence types named in rules of the accounts' policies."""
    return {one for rule in known_rules(account_ids) for one in asked_for(rule, "licenseType")}


def known_types(account_ids: Iterable[str]) -> list[str]:
    """Return the types in policies and in licences."""
    ids = list(account_ids)
    newest = License.objects.filter(account__in=ids).order_by("-pk").values("license_type")[:MOST_LICENSES]
    held = {one["license_type"] for one in newest}
    return sorted(types_asked_for(ids) | held)[:MOST_SUGGESTED]


def type_warnings(before: License | None, saved: License) -> list[str]:
    """Warn about a new type that no policy asks for, if policies ask for any."""
    if before is not None and before.license_type == saved.license_type:
        return []
    asked_for = types_asked_for([saved.account_id])
    if not asked_for or saved.license_type in asked_for:
        return []
    near = get_close_matches(saved.license_type, sorted(asked_for), n=1, cutoff=0.7)
    meant = f" Did you mean {near[0]}?" if near else f" They ask for {', '.join(sorted(asked_for)[:10])}."
    return [f"No rule uses the licence type {saved.license_type}: no rule that wants a type matches by it.{meant}"]


def describe_bookings(before: License | None, saved: License, known: set[str]) -> list[str]:
    """Describe the ledger entries of a save; `known` are the ids of earlier entries."""
    entries = [one for one in LedgerEntry.objects.filter(license=saved).order_by("pk") if one.pk not in known]
    sentences = [
        f"{in_full(entry.amount, entry.currency)} is booked {describe_moment(entry.occurred_at)}"
        + (", which takes back what was booked." if entry.amount < 0 else ".")
        for entry in entries
    ]
    if entries:
        sentences.append("Entries cannot be changed. Correct a mistake with another entry.")
    return sentences


def describe_moment(moment: datetime) -> str:
    """Return `now`, or the minute at which an entry counts."""
    soon = abs((moment - timezone.now()).total_seconds()) < NOW
    return "now" if soon else f"as of {time_in_words(moment)}"


def per_access(before: License | None, saved: License) -> list[str]:
    if before is not None and (before.access_amount, before.access_currency) == (
        saved.access_amount,
        saved.access_currency,
    ):
        return []
    if saved.access_amount is None:
        return ["It charges nothing per access any more."] if before is not None else []
    return [f"Each access that it allows is charged {money(saved.access_amount, saved.access_currency)}."]


def fees(before: License | None, saved: License) -> list[str]:
    """Describe a new, changed or ended fee."""
    if (fee(before) if before is not None else fee(License())) == fee(saved):
        return []
    if saved.fee_amount is None:
        return ["No further fee is charged."]
    following = f" The next fee is due on {time_in_words(saved.next_fee_at)}." if saved.next_fee_at else ""
    return [f"The fee of {fee(saved)} is charged in advance.{following}"]


def describe_coverage(held: License) -> str:
    """Describe how many items a licence currently covers."""
    if not (held.content_ids or held.tags or held.policy_ids):
        return "everything"
    named = Q(pk__in=held.content_ids) | Q(policy_id__in=held.policy_ids)
    for tag in held.tags:
        named |= Q(tags__has=tag)
    number = Content.objects.of(held.account_id).filter(named).order_by().values("pk")[: MOST_COUNTED + 1].count()
    if number > MOST_COUNTED:
        return f"more than {MOST_COUNTED:,} items"
    return f"{number:,} item{'' if number == 1 else 's'}"


def license_question(
    before: License | None, saved: License, known: set[str], quota: Quota | None, *, is_new: bool
) -> Question | None:
    """Return the question, or None if there is nothing to ask. `is_new`: saving creates the requester."""
    effects = describe_bookings(before, saved, known) + per_access(before, saved)
    effects += fees(before, saved) + (quota.in_words() if quota else [])
    warnings = type_warnings(before, saved)
    if not (effects or warnings):
        return None
    requester: Requester = saved.requester
    return Question(
        title="Issue this licence?" if before is None else f"Change the licence of {requester}?",
        facts=[
            ("Account", str(saved.account)),
            ("Customer", f"{requester.requester_id}{' (new)' if is_new else ''}"),
            ("Licence type", saved.license_type),
            ("Covers", describe_coverage(saved)),
            ("Term", term(saved)),
            ("Price", money(saved.price_amount, saved.price_currency)),
            ("Fee", fee(saved)),
            ("Per access", money(saved.access_amount, saved.access_currency)),
        ],
        effects=[*effects, "It applies from the next check on."],
        warnings=warnings,
        button="Issue it" if before is None else "Save it",
    )

"""Licences that need attention: ending soon, or of customers who are denied anyway."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.html import format_html

from analytics.models import AccessEvent
from analytics.windows import DAY
from licensing.licenses.models import License, LicenseStatus
from licensing.policies.decision import Reason
from licensing.requesters.models import Requester
from operators.base.figures.choice import FigureSelection
from operators.base.figures.terms import standing_first
from operators.base.links import list_url
from operators.base.scope import CHECK_PERMISSIONS
from operators.base.times import TO_DAY, local_time, shown_time
from operators.licenses.templates import is_renewable
from operators.overview.newest_decisions import MAX_SCANNED, newest_since

SOON, LATER = 30, 60  # days
MAX_ROWS = 10
RECENT = DAY  # period of recent denials
MAX_GROUPS = 100  # pairs of requester and reason


@dataclass
class DenialCounts:
    """A requester's denials by reason."""

    now: datetime
    held: License
    last: datetime
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def requester(self) -> Requester:
        return self.held.requester

    @property
    def count(self) -> int:
        return sum(self.reasons.values())

    @property
    def held_state(self) -> str:
        state = self.held.state(self.now)
        if state == "revoked" or self.held.expires_at is None:
            return state
        words = "ended {}" if state == "expired" else "active until {}"
        return format_html(words, shown_time(self.held.expires_at, TO_DAY))

    @property
    def is_renewable(self) -> bool:
        return is_renewable(self.held)

    @property
    def decisions(self) -> str:
        day = f"{local_time(self.last - RECENT):{TO_DAY}}"
        return list_url(AccessEvent, requester__id__exact=str(self.requester.pk), outcome="denied", created_from_0=day)

    @property
    def words(self) -> str:
        return "; ".join(Reason(reason).words for reason in self.reasons)


def license_attention_context(request: HttpRequest, choice: FigureSelection, now: datetime) -> dict[str, object]:
    """Return the template context of the licences to look at; denied customers only for who may see decisions."""
    ending = list(ending_soon(choice.account_ids, now)[: MAX_ROWS + 1])
    ending_lists = []
    for days in (SOON, LATER):
        period = {
            "expires_at_from_0": f"{local_time(now):{TO_DAY}}",
            "expires_at_to_0": f"{local_time(now + timedelta(days=days)):{TO_DAY}}",
        }
        ending_lists.append((days, list_url(License, state="active", **period, **choice.account_filter)))
    context: dict[str, object] = {
        "ending": [(license_, ((license_.expires_at or now) - now).days) for license_ in ending[:MAX_ROWS]],
        "more_ending": len(ending) > MAX_ROWS,
        "ending_lists": ending_lists,
        "tries_checks": request.user.has_perms(CHECK_PERMISSIONS),
    }
    if request.user.has_perm("analytics.view_accessevent"):
        context["denied_customers"] = denied_customers(choice.account_ids, now)
        context["most_scanned"] = MAX_SCANNED
        context["denied_list"] = list_url(AccessEvent, outcome="denied", **choice.account_filter)
    return context


def ending_soon(account_ids: Iterable[str], now: datetime) -> QuerySet[License]:
    """Return active licences that end within LATER days without a following one, soonest first.

    A following one is of the same customer and type, and covers the same or everything. It has begun by the end of the
    first, and ends later or never.
    """
    has_begun = Q(status=LicenseStatus.ACTIVE, starts_at__lte=OuterRef("expires_at"))
    ends_later = Q(expires_at=None) | Q(expires_at__gt=OuterRef("expires_at"))
    covers_everything = Q(content_ids=[], tags=[], policy_ids=[])
    covers_the_same = Q(**{name: OuterRef(name) for name in ("content_ids", "tags", "policy_ids")})
    same_type = License.objects.filter(requester=OuterRef("requester"), license_type=OuterRef("license_type"))
    following = same_type.filter(has_begun, ends_later).filter(covers_everything | covers_the_same)
    ending = License.objects.filter(
        account_id__in=list(account_ids),
        status=LicenseStatus.ACTIVE,
        expires_at__gt=now,
        expires_at__lte=now + timedelta(days=LATER),
    )
    return ending.filter(~Exists(following)).select_related("requester", "account").order_by("expires_at", "pk")


def denied_customers(account_ids: Iterable[str], now: datetime) -> list[DenialCounts]:
    """Return customers, including former ones, who were denied since their licence last changed.

    Searches the newest MAX_SCANNED decisions of a day; most denials first.
    """
    licensed = Exists(License.objects.filter(requester=OuterRef("requester_id")))
    denials = newest_since(list(account_ids), now - RECENT, MAX_SCANNED).filter(licensed, allowed=False).order_by()
    groups = denials.values("requester_id", "reason").annotate(count=Count("pk"), last=Max("created"))
    rows = list(groups.order_by("-count", "requester_id")[:MAX_GROUPS])
    licenses = leading_licenses({row["requester_id"] for row in rows}) if rows else {}
    denied: dict[int, DenialCounts] = {}
    for row in rows:
        number = row["requester_id"]
        license_, changed = licenses[number]
        if row["last"] > changed:
            counts = denied.setdefault(number, DenialCounts(now, license_, row["last"]))
            counts.reasons[str(row["reason"])] = row["count"]
            counts.last = max(counts.last, row["last"])
    return sorted(denied.values(), key=lambda counts: (-counts.count, counts.requester.pk))[:MAX_ROWS]


def leading_licenses(requesters: Iterable[int]) -> dict[int, tuple[License, datetime]]:
    """Return, by requester, the licence to look at and when any of its licences last changed."""
    own_licenses = standing_first(License.objects.filter(requester=OuterRef("pk")))
    first = Requester.objects.filter(pk__in=requesters).values(first=Subquery(own_licenses.values("pk")[:1]))
    latest = License.objects.filter(requester=OuterRef("requester")).order_by("-updated").values("updated")[:1]
    licenses = (
        License.objects.filter(pk__in=first).select_related("requester__account").annotate(changed=Subquery(latest))
    )
    return {license_.requester_id: (license_, license_.changed) for license_ in licenses}

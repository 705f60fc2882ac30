"""The button *Refund* of a customer: a page with the charges that can still be refunded."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from msgspec import Struct
from unfold.decorators import action

from analytics.ledger.refunds import balances_of, booked_charge, usage_id
from analytics.models import AccessEvent, EntryType, LedgerEntry
from kit.values.currencies import in_full
from licensing.access.history.queryset import BY_TIME, HistoryQuerySet
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from operators.base.model_admin import ScopedAdmin
from operators.base.pages import page
from operators.base.times import shown_time

# Reading only the newest licences and decisions bounds the cost; the ledger lists all.
MOST_LICENSES, MOST_DECISIONS = 200, 1_000
MOST_ENTRIES = 1_000  # of prices and fees
MOST_SHOWN = 50  # charges


class Refundable(Struct, frozen=True):
    """A charge of which something is left to refund."""

    what: str
    link: str
    charged: str
    left: str
    at: str
    refund: str


def refundable_charges(requester: Requester) -> list[Refundable]:
    """Return the newest charges with something left to refund: prices and fees of licences, then accesses.

    Charges of customers merged into this one are included.
    """
    numbers = [requester.pk, *Requester.objects.filter(merged_into=requester).values_list("pk", flat=True)]
    entries = [*prices(numbers), *accesses(numbers)]
    known = balances_of(entries)
    found = {}
    for entry in entries:
        charge = booked_charge(entry)
        if charge is None or (charge, entry.currency) in found:
            continue
        balance = known[charge, entry.currency]
        if balance.refundable:
            found[charge, entry.currency] = Refundable(
                what=describe_charge(entry),
                link=change_url(entry),
                charged=in_full(balance.charged, entry.currency),
                left=in_full(balance.refundable, entry.currency),
                at=shown_time(entry.occurred_at),
                refund=reverse("admin:analytics_ledgerentry_refund", args=[entry.pk]),
            )
    return list(found.values())


def prices(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the prices and fees of the requesters' newest licences, newest first."""
    licenses = License.objects.filter(requester__in=numbers).order_by("-pk").values_list("pk", flat=True)
    entries = LedgerEntry.objects.filter(
        license__in=list(licenses[:MOST_LICENSES]), decision__isnull=True, type__in=(EntryType.LICENSE, EntryType.FEE)
    )
    return list(entries.order_by("-created", "-pk")[:MOST_ENTRIES])


def accesses(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the charges of the requesters' newest decisions, newest first."""
    decisions = HistoryQuerySet.covering(AccessEvent.objects.filter(requester__in=numbers).order_by(*BY_TIME))
    charges = [usage_id(one.pk) for one in decisions[:MOST_DECISIONS]]
    return list(LedgerEntry.objects.filter(pk__in=charges).select_related("content").order_by("-created", "-pk"))


def describe_charge(entry: LedgerEntry) -> str:
    if entry.type == EntryType.FEE:
        return f"Fee of the licence {entry.license_type}"
    if entry.decision_id is None:
        return f"Price of the licence {entry.license_type}"
    return f"Access to {entry.content.title}" if entry.content is not None else "Access to a deleted item"


class RefundPage(ScopedAdmin[Requester]):
    """Adds `refund` and `charge` to the admin of customers; list them in `actions_detail`."""

    @action(description="Charge", icon="add_circle", permissions=["refunding"], url_path="charge")
    def charge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Open the form of an adjustment about the customer."""
        requester = self.found(request, object_id)
        currency = requester.account.currency
        about = {"account": requester.account_id, "of_requester": requester.requester_id, "currency": currency}
        return redirect(f"{reverse('admin:analytics_ledgerentry_add')}?{urlencode(about)}")

    def has_refunding_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perms(("analytics.view_ledgerentry", "analytics.add_ledgerentry"))

    @action(description="Refund", icon="undo", permissions=["refunding"], url_path="refund")
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        requester = self.found(request, object_id)
        charges = refundable_charges(requester)
        return page(
            request,
            self,
            "operators/customers/refundable.html",
            title=f"Refund {requester}",
            original=requester,
            charges=charges[:MOST_SHOWN],
            has_more=len(charges) > MOST_SHOWN,
            ledger=list_url(LedgerEntry, requester__id__exact=str(requester.pk)),
            back=change_url(requester),
        )

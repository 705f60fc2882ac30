"""The customer's button *Refund*, which opens a page with the charges that can still be refunded."""

from django.http import HttpRequest, HttpResponse
from unfold.decorators import action

from analytics.ledger.refunds import IS_SINGLE, Balance, balance_of, balances_of, charge_of, usage_id
from analytics.models import AccessEvent, EntryType, LedgerEntry
from licensing.access.archived.queryset import ORDER_BY_TIME, HistoryQuerySet
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from operators.base.model_admin import ScopedAdmin
from operators.base.pages import page
from operators.base.rights import right

# Reading only the newest licences and decisions bounds the cost; the ledger lists all.
MAX_LICENSES, MAX_DECISIONS = 200, 1_000
MAX_ENTRIES = 1_000  # of prices and fees
MAX_SHOWN = 50  # charges


def refundable_charges(requester: Requester) -> list[tuple[LedgerEntry, Balance]]:
    """Return the newest charges with something left to refund: prices and fees of licences, own charges, accesses.

    Charges of customers merged into this one are included.
    """
    numbers = requester.numbers
    entries = [*price_entries(numbers), *own_charges(requester.account_id, numbers), *access_entries(numbers)]
    balances_by_charge = balances_of(entries)
    refundable: dict[object, tuple[LedgerEntry, Balance]] = {}  # by charge and currency
    for entry in entries:
        balance = balance_of(entry, balances_by_charge)
        if balance is not None and balance.refundable:
            refundable.setdefault((charge_of(entry), entry.currency), (entry, balance))
    return list(refundable.values())


def price_entries(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the prices and fees of the requesters' newest licences, newest first."""
    licenses = License.objects.filter(requester__in=numbers).order_by("-pk").values_list("pk", flat=True)
    entries = LedgerEntry.objects.filter(
        license__in=list(licenses[:MAX_LICENSES]), decision__isnull=True, type__in=(EntryType.LICENSE, EntryType.FEE)
    )
    return list(entries.order_by("-created", "-pk")[:MAX_ENTRIES])


def own_charges(account_id: str, numbers: list[int]) -> list[LedgerEntry]:
    """Return the requesters' charges without a licence and a decision, newest first."""
    charges = LedgerEntry.objects.filter(IS_SINGLE, account=account_id, requester__in=numbers)
    return list(charges.exclude(type=EntryType.FEE).order_by("-created", "-pk")[:MAX_ENTRIES])


def access_entries(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the charges of the requesters' newest decisions, newest first."""
    decisions = HistoryQuerySet.covering(AccessEvent.objects.filter(requester__in=numbers).order_by(*ORDER_BY_TIME))
    charges = [usage_id(decision.pk) for decision in decisions[:MAX_DECISIONS]]
    return list(LedgerEntry.objects.filter(pk__in=charges).select_related("content").order_by("-created", "-pk"))


class RefundPage(ScopedAdmin[Requester]):
    """Adds `refund` to the admin of customers; list it in `actions_detail`."""

    has_refunding_permission = right("analytics.view_ledgerentry", "analytics.add_ledgerentry")

    @action(description="Refund", icon="undo", permissions=["refunding"], url_path="refund")
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        requester = self.require_object(request, object_id)
        charges = refundable_charges(requester)
        return page(
            request,
            self,
            "operators/customers/refundable.html",
            title=f"Refund {requester}",
            original=requester,
            charges=charges[:MAX_SHOWN],
            has_more=len(charges) > MAX_SHOWN,
            ledger=list_url(LedgerEntry, requester__id__exact=str(requester.pk)),
            back=change_url(requester),
        )

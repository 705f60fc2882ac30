"""Two operators may book the same: who has changed a balance since a page said what it would become."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import AuditEntry
from analytics.models import EntryType, LedgerEntry, Payment
from licensing.requesters.models import Requester
from operators.base.forms.confirmed_form import promised_at
from operators.base.links import link_to
from operators.base.times import shown_time

PROMISE_BROKEN = (
    "Nothing was saved, because the balance changed meanwhile: {}. If yours is another one, save it again."
)


def check_promise(request: HttpRequest, requester: Requester, currency: str, until: datetime) -> None:
    """Raise ValidationError if others changed the balance by `until` since the operator was promised what it would be.

    Two people may record the same transfer. Charges of checks and fees do not count: they come all the time. Call it
    while the customer or the account is held.
    """
    since = promised_at(request)
    if since is None:
        return
    shared = {"account": requester.account_id, "requester": requester, "currency": currency}
    between = {"created__gt": since, "created__lt": until}
    payment = Payment.objects.filter(**shared, **between).order_by("-created").first()
    adjustments = LedgerEntry.objects.filter(**shared, **between, type=EntryType.ADJUSTMENT)
    other = payment or adjustments.order_by("-created").first()
    if other is not None:
        known = booking_in_words(getattr(other, "reverses", None) or other)
        raise ValidationError(format_html(PROMISE_BROKEN, known))


def booking_in_words(booking: Payment | LedgerEntry) -> SafeString:
    """Return a link to a payment or an entry of the ledger, and who changed it last."""
    return format_html("{}, {}", link_to(booking), latest_change(booking))


def latest_change(booking: Payment | LedgerEntry) -> SafeString:
    """Return the last change with its author and time, such as "created by clara 2026-11-30 14:03"."""
    change = AuditEntry.objects.filter(resource_id=booking.pk).order_by("-created", "-pk").first()
    if change is None:
        return format_html("booked {}", shown_time(booking.created))
    what = change.action.partition(".")[2]
    return format_html("{} by {} {}", what, change.actor_name or change.actor_type, shown_time(change.created))

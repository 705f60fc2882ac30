"""One new object per form, even if it is submitted twice.

The form carries a ticket with the new object's id. A second submission finds that id in the database, even if both run
at once.
"""

from functools import partial

from django import forms
from django.core import signing
from django.db.models import Model

from kit.values import ids

SALT = "operators.base.tickets"
LIFETIME = 24 * 3600  # seconds
TOO_OLD = "This form has expired. Check it and send it again."


def new_ticket(model: type[Model]) -> str:
    return signing.dumps(ids.new_id(ids.id_prefix(model)), salt=SALT)


def read_ticket(ticket: str, model: type[Model]) -> str | None:
    """Return the new object's id; None if the ticket is forged, expired or for another model."""
    try:
        pk: str = signing.loads(ticket, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    return pk if ids.decode(ids.id_prefix(model), pk) is not None else None


def is_used(model: type[Model], pk: str) -> bool:
    return model._base_manager.filter(pk=pk).exists()


class TicketField(forms.CharField):
    """A hidden field with a ticket; its cleaned value is the new object's id."""

    widget = forms.HiddenInput

    def __init__(self, model: type[Model]) -> None:
        super().__init__(initial=partial(new_ticket, model))
        self.model = model

    def clean(self, value: str) -> str:
        pk = read_ticket(super().clean(value) or "", self.model)
        if pk is None:
            raise forms.ValidationError(TOO_OLD)
        return pk

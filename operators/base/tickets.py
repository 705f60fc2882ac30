"""What keeps a form that makes something from making it twice: by a double click, a reload, or the way back.

The form carries a ticket with the id that the new object will have. Sent again it meets that id in the database, also
where both copies are under way at once.
"""

from typing import Any

from django.core import signing
from django.db.models import Model

from kit.values import ids

SALT = "operators.base.tickets"
LIFETIME = 24 * 3600  # seconds
TOO_OLD = "This form is too old. Look it over and send it again."


def new_ticket(model: type[Model]) -> str:
    field: Any = model._meta.pk
    return signing.dumps(ids.new_id(field.prefix), salt=SALT)


def id_of(ticket: str, model: type[Model]) -> str | None:
    """The id for the new object; None for a ticket of another kind, of somebody's own making, or too old."""
    field: Any = model._meta.pk
    try:
        pk: str = signing.loads(ticket, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    return pk if ids.decode(field.prefix, pk) is not None else None


def is_used(model: type[Model], pk: str) -> bool:
    return model._base_manager.filter(pk=pk).exists()

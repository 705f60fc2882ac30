"""One new object per form, whatever is clicked twice, reloaded or sent again.

The form carries a ticket with the id that the new object will have. A second submission finds that id in the database,
also where both are under way at once.
"""

from django.core import signing
from django.db.models import Model

from kit.values import ids

SALT = "operators.base.tickets"
LIFETIME = 24 * 3600  # seconds
TOO_OLD = "This form is too old. Look it over and send it again."


def new_ticket(model: type[Model]) -> str:
    return signing.dumps(ids.new_id(prefix_of(model)), salt=SALT)


def prefix_of(model: type[Model]) -> str:
    field = model._meta.pk
    if not isinstance(field, ids.IdField):
        raise TypeError(f"{model.__name__} has no prefixed id.")
    return field.prefix


def id_of(ticket: str, model: type[Model]) -> str | None:
    """The id for the new object; None for a ticket of another kind, a forged one, or one too old."""
    try:
        pk: str = signing.loads(ticket, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    return pk if ids.decode(prefix_of(model), pk) is not None else None


def is_used(model: type[Model], pk: str) -> bool:
    return model._base_manager.filter(pk=pk).exists()

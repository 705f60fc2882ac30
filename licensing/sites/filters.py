"""Filters for site lists."""

from accounts.models import Unknown
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, choice, identifier, text, timestamp
from licensing.policies.modes import MODES
from licensing.sites.models import Site


class SiteFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("site")),
        "host": Operand(text),
        "mode": Operand(choice(MODES)),
        "unknown": Operand(choice(Unknown)),
        "verifiedAt": Operand(timestamp, "verified_at", operators=ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = Site
        fields: list[str] = []

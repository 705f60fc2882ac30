"""Filters of licences."""

from kit.rest.filters import (
    ORDER,
    PREFIX,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    text,
    timestamp,
)
from licensing.licenses.serializers import STATES


class LicenseFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("lic")),
        "requesterId": Operand(text, "requester__requester_id"),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "licenseType": Operand(text, "license_type"),
        "status": Operand(choice(STATES), "derived_status"),
        "startsAt": Operand(timestamp, "starts_at", ORDER),
        "expiresAt": Operand(timestamp, "expires_at", ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

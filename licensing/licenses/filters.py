"""What licences can be filtered by."""

from kit.rest.filters import (
    ORDER,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    text,
    timestamp,
)
from licensing.licenses.models import License
from licensing.licenses.serializers import STATES


class LicenseFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("lic")),
        "requesterId": Operand(text, "requester__requester_id"),
        "licenseType": Operand(text, "license_type"),
        "status": Operand(choice(STATES), "derived_status"),
        "startsAt": Operand(timestamp, "starts_at", ORDER),
        "expiresAt": Operand(timestamp, "expires_at", ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = License
        fields: list[str] = []

"""Filters for lists of licence clients."""

from kit.rest.filters import ORDER, Operand, OperatorFilterSet, identifier, text, timestamp


class LicenseClientFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cli")),
        "requesterId": Operand(text, "requester__requester_id"),
        "name": Operand(text),
        "revokedAt": Operand(timestamp, "revoked_at", ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
    }

"""Filters of the list of wallets."""

from analytics.wallets.models import Wallet
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, identifier, text, timestamp


class WalletFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "licenseId": Operand(identifier("lic"), "license_id", optional=True),
        "unit": Operand(text),
        "created": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = Wallet
        fields: list[str] = []

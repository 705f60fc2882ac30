"""The price of a decision, and whether a wallet covers it."""

from analytics.wallets.units import ACCESS
from licensing.policies.decision import Decision, falls_short
from licensing.policies.facts import HeldLicense, Shortfall

PRICED = HeldLicense("commercial", "service", "lic_1", access_amount=50_000, access_currency="USD")
ASSERTED = HeldLicense("commercial")


def test_a_decision_costs_its_price_while_its_wallet_covers_it():
    free = HeldLicense("commercial", "service", "lic_1")
    of_nothing = HeldLicense("commercial", "service", "lic_1", access_amount=0, access_currency="USD")
    for decision, price in [
        (Decision(True, license=PRICED), (50_000, "USD")), (Decision(True, license=PRICED, waived=True), None),
        (Decision(True, license=PRICED, observed=""), None), (Decision(False, license=PRICED), None),
        (Decision(True, license=free), None), (Decision(True, license=of_nothing), None), (Decision(True), None),
    ]:  # fmt: skip
        assert decision.price == price
    for unit, available, is_short in [
        ("USD", 49_999, True), ("USD", 50_000, False), ("USD", 0, True), ("EUR", 0, False),
    ]:  # fmt: skip
        assert falls_short(Decision(True, license=PRICED), Shortfall(unit, available)) is is_short
    for decision, is_short in [
        (Decision(True, license=PRICED), True), (Decision(True, license=ASSERTED), False), (Decision(True), False),
        (Decision(False, license=PRICED), False), (Decision(True, license=PRICED, waived=True), False),
    ]:  # fmt: skip
        assert falls_short(decision, Shortfall(ACCESS, 0)) is is_short

"""The price of a decision, and whether a wallet covers it."""

import pytest

from analytics.wallets.units import ACCESS
from licensing.policies.decision import Decision, falls_short
from licensing.policies.facts import HeldLicense, Shortfall

PRICED = HeldLicense("commercial", "service", "lic_1", access_amount=50_000, access_currency="USD")
ASSERTED = HeldLicense("commercial")


@pytest.mark.parametrize(
    ("decision", "price"),
    [
        (Decision(True, license=PRICED), (50_000, "USD")),
        (Decision(True, license=PRICED, waived=True), None),
        (Decision(True, license=PRICED, observed=""), None),
        (Decision(False, license=PRICED), None),
        (Decision(True, license=HeldLicense("commercial", "service", "lic_1")), None),
        (
            Decision(
                True, license=HeldLicense("commercial", "service", "lic_1", access_amount=0, access_currency="USD")
            ),
            None,
        ),
        (Decision(True), None),
    ],
)
def test_only_an_enforced_access_by_a_priced_licence_has_a_price(decision, price):
    assert decision.price == price


@pytest.mark.parametrize(
    ("unit", "available", "is_short"),
    [("USD", 49_999, True), ("USD", 50_000, False), ("USD", 0, True), ("EUR", 0, False)],
)
def test_a_wallet_pays_until_it_has_less_than_the_price_in_its_currency(unit, available, is_short):
    assert falls_short(Decision(True, license=PRICED), Shortfall(unit, available)) is is_short


@pytest.mark.parametrize(
    ("decision", "is_short"),
    [
        (Decision(True, license=PRICED), True),
        (Decision(True, license=ASSERTED), False),
        (Decision(True), False),
        (Decision(False, license=PRICED), False),
        (Decision(True, license=PRICED, waived=True), False),
    ],
)
def test_a_used_up_quota_stops_the_accesses_by_licences_of_the_service(decision, is_short):
    assert falls_short(decision, Shortfall(ACCESS, 0)) is is_short

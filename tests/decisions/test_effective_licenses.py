"""The licences that a requester holds at a moment, stored by the service or asserted by the caller."""

from datetime import UTC, datetime, timedelta

from licensing.policies.effective_licenses import Standing, Term, asserted_standing, standing_at
from licensing.policies.facts import HeldLicense

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=30)
INSTANT = timedelta(microseconds=1)
GOLD = HeldLicense("gold", "service", "lic_gold", END)
SILVER = HeldLicense("silver", "service", "lic_silver")
TERM = Term(GOLD, BEGIN)


def test_a_licence_is_valid_from_its_start_until_its_end_or_revocation():
    for moment, is_valid in [(BEGIN - INSTANT, False), (BEGIN, True), (END - INSTANT, True), (END, False)]:
        assert TERM.is_valid(moment) is is_valid
        standing = standing_at([TERM], moment)
        assert (standing is not None and standing.is_valid) is is_valid
    revoked = Term(GOLD, BEGIN, revoked=True)
    assert not revoked.is_valid(BEGIN)
    assert standing_at([revoked], END) == Standing()
    assert standing_at([TERM], END) == Standing(has_lapsed=True)
    assert standing_at([TERM, Term(SILVER, BEGIN)], END) == Standing(("silver",), True, licenses=(SILVER,))


def test_a_presented_licence_is_used_alone_while_it_is_valid() -> None:
    terms = [TERM, Term(SILVER, BEGIN)]
    assert standing_at(terms, BEGIN, "lic_silver") == Standing(("silver",), True, licenses=(SILVER,))
    assert standing_at(terms, END, "lic_gold") == Standing(("silver",), True, licenses=(SILVER,))


def test_a_caller_vouches_for_a_type_for_validity_or_for_both():
    for said, standing in [
        (("gold", True), Standing(("gold",), True, by_service=False, licenses=(HeldLicense("gold"),))),
        (("gold", False), Standing(("gold",), False, by_service=False, licenses=(HeldLicense("gold"),))),
        ((None, True), Standing((), True, by_service=False, licenses=(HeldLicense(None),))),
        ((None, False), Standing(by_service=False)),
    ]:
        assert asserted_standing(*said) == standing

"""Charges and wallets: what a decision costs, which wallet pays, and what follows if that does not cover it."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from msgspec.structs import replace

from analytics.recording.entries import Charge
from analytics.recording.spending_sql import Spend
from analytics.wallets.spending import WalletBooks
from analytics.wallets.units import ACCESS
from kit.http.errors import ApiError
from kit.values import ids
from kit.values.decimals import plain_millionths
from licensing.access.deciding import Answer
from licensing.policies.decision import Decision, build_unpaid_denial, counts_as_access
from licensing.policies.facts import HeldLicense, Shortfall

ONE_ACCESS = 1_000_000  # an access, in millionths
AMOUNT_MARK = "\0"  # in place of an amount; JSON has this byte nowhere else, because strings escape it
Wallets = Sequence[Sequence[str | None]]  # key, unit, key of the licence


def build_charge(decision: Decision) -> Charge | None:
    """Return the decision's charge, unless its rule's limit later denies it."""
    price = decision.price
    held = decision.license
    if price is None or held is None:
        return None
    return Charge(*price, None if held.id is None else license_key(held.id), held.license_type or "")


@lru_cache(maxsize=10_000)
def license_key(license_id: str) -> str:
    """Its UUID in hex; to decode an id takes longer than to decide."""
    return ids.id_to_hex("lic", license_id)


def spends_of(decision: Decision, wallets: Wallets) -> tuple[Spend, ...]:
    """Return what the decision spends from the requester's wallets, a quota first.

    The wallet of the charged licence pays, or else the requester's own in that unit. A quota counts each decision that
    a stored licence allows. Denied, waived and observed decisions spend nothing.
    """
    held = decision.license
    if not wallets or held is None or not decision.is_charged:
        return ()
    key = None if held.id is None else license_key(held.id)
    spends = []
    if counts_as_access(decision) and (quota := paying_wallet(wallets, ACCESS, key)) is not None:
        spends.append(Spend(quota, ACCESS, ONE_ACCESS))
    if decision.price is not None and (wallet := paying_wallet(wallets, decision.price[1], key)) is not None:
        spends.append(Spend(wallet, decision.price[1], decision.price[0]))
    return tuple(spends)


def spends_if_enforced(decision: Decision, wallets: Wallets) -> tuple[Spend, ...]:
    """Return what the decision spends or, if it is observed, what it would spend if it were enforced."""
    return spends_of(replace(decision, observed=None) if decision.observed == "" else decision, wallets)


def paying_wallet(wallets: Wallets, unit: str, license_key: str | None) -> str | None:
    """The wallet in that unit of the licence, or else of the requester."""
    found = {of_license: wallet for wallet, own_unit, of_license in wallets if own_unit == unit}
    return found.get(license_key) or found.get(None)


def paid_by(spend: Spend) -> dict[str, object]:
    """Return the paying wallet as a decision records it; the remaining credit is added with the record."""
    return {"walletId": wallet_id(spend.wallet), "unit": spend.unit}


@lru_cache(maxsize=10_000)
def wallet_id(key: str) -> str:
    return ids.encode("wal", bytes.fromhex(key))


def with_credits(answer: Answer | ApiError, spend: Spend, available: int | None) -> Answer | ApiError:
    """The answer with what its last spend leaves in its wallet, in millionths; None before it is recorded."""
    if isinstance(answer, ApiError):
        return answer
    remaining = AMOUNT_MARK if available is None else plain_millionths(available)
    return replace(answer, credits={**paid_by(spend), "remaining": remaining})


def deny_unpaid(answer: Answer, spend: Spend, books: WalletBooks) -> Answer:
    """Return the answer with the shortfall of the wallet that does not cover the spend; observed ones only say why."""
    shortfall = Shortfall(spend.unit, books.available_credit(spend))
    facts = replace(answer.facts, shortfall=shortfall)
    decision = build_unpaid_denial(answer.decision, shortfall)
    missing = books.describe_shortfall(spend) if decision.observed is None else None
    return replace(answer, decision=decision, facts=facts, credits=missing, rate_reset=None, shared=None)


def rehearse_spending(answer: Answer, wallets: Wallets) -> Answer:
    """Return a dry run's answer with the wallets' result; nothing is spent."""
    spends = spends_if_enforced(answer.decision, wallets)
    return rehearse_with(answer, spends, WalletBooks.read([one.wallet for one in spends], answer.facts.now))


def rehearse_all(answers: Sequence[Answer], wallets: Wallets, now: datetime) -> list[Answer]:
    """Do the same for several accesses of one requester, each separately. Reads the wallets once."""
    spends = [spends_if_enforced(answer.decision, wallets) for answer in answers]
    books = WalletBooks.read([one.wallet for some in spends for one in some], now)
    return [rehearse_with(answer, some, books) for answer, some in zip(answers, spends, strict=True)]


def rehearse_with(answer: Answer, spends: Sequence[Spend], books: WalletBooks) -> Answer:
    if not spends:
        return answer
    uncovered = books.first_uncovered(spends)
    if uncovered is not None:
        return deny_unpaid(answer, uncovered, books)
    if answer.decision.observed is not None:
        return answer
    return replace(answer, credits=books.describe_remaining(spends[-1]))


def covers_an_access(held: HeldLicense, wallets: Wallets, now: datetime) -> bool:
    """Whether the wallets of a licence's holder would pay an access by it now."""
    spends = spends_of(Decision(True, license=held), wallets)
    return not spends or WalletBooks.read([one.wallet for one in spends], now).first_uncovered(spends) is None

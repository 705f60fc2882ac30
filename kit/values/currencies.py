"""The active ISO 4217 currencies and their minor units."""

from decimal import ROUND_HALF_EVEN, Decimal

from iso4217 import raw_table

from kit.values.decimals import WIDE
from kit.values.suggestions import MAX_SHOWN, did_you_mean

# Excludes entries without a minor unit: metals, units of account, test codes.
raw_units = {code: str(entry["CcyMnrUnts"]) for code, entry in raw_table.items()}
MINOR_UNITS = {code: int(units) for code, units in raw_units.items() if units.isdigit()}
CURRENCIES = sorted(MINOR_UNITS)
TRACE = Decimal(1).scaleb(-20)  # larger than the accumulated rounding error of conversions


def parse_currency(text: str) -> str:
    """Return the code unchanged. Raises ValueError unless it is three capital letters of an active currency."""
    if text not in MINOR_UNITS:
        hint = did_you_mean(text, CURRENCIES)
        raise ValueError(
            f"Must be the ISO 4217 code of a currency in use, such as EUR, not {text[:MAX_SHOWN]!r}.{hint}"
        )
    return text


def round_to_minor_unit(amount: Decimal, currency: str) -> Decimal:
    """Round for display, half to even. A currency no longer in use has two places."""
    return round_half_even(amount, Decimal(1).scaleb(-MINOR_UNITS.get(currency, 2)))


def round_half_even(amount: Decimal, step: Decimal) -> Decimal:
    """Round to a multiple of `step`, half to even. Ignores conversion errors smaller than TRACE."""
    return amount.quantize(TRACE, context=WIDE).quantize(step, rounding=ROUND_HALF_EVEN, context=WIDE)


def in_places(amount: Decimal, currency: str) -> str:
    """Format the exact amount with at least the currency's decimal places, as in `1,234.50`."""
    exponent = amount.normalize(WIDE).as_tuple().exponent
    decimal_places = max(MINOR_UNITS.get(currency, 2), -exponent if isinstance(exponent, int) else 0)
    return f"{amount:,.{decimal_places}f}"


def in_full(amount: Decimal, currency: str) -> str:
    """Format the exact amount with its currency, as in `1,234.50 EUR`."""
    return f"{in_places(amount, currency)} {currency}"

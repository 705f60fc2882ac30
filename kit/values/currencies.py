"""The currencies of ISO 4217 in use, and their minor units."""

from decimal import ROUND_HALF_EVEN, Decimal

from iso4217 import raw_table

from kit.values.decimals import WIDE

# Without those that have no minor unit: metals, units of account, codes for testing.
MINOR_UNITS = {code: int(units) for code, entry in raw_table.items() if (units := str(entry["CcyMnrUnts"])).isdigit()}
CURRENCIES = sorted(MINOR_UNITS)
TRACE = Decimal(1).scaleb(-20)  # more than the rounding of conversions adds up to


def parse_currency(text: str) -> str:
    """The code as it is written: three capital letters. ValueError says what is wrong."""
    if text not in MINOR_UNITS:
        hint = f" Did you mean {text.upper()}?" if text.upper() in MINOR_UNITS else ""
        raise ValueError(f"Must be the ISO 4217 code of a currency in use, such as EUR.{hint}")
    return text


def round_to_minor_unit(amount: Decimal, currency: str) -> Decimal:
    """Rounded for display, half to even; a currency that is no longer in use has two places."""
    return round_half_even(amount, Decimal(1).scaleb(-MINOR_UNITS.get(currency, 2)))


def round_half_even(amount: Decimal, step: Decimal) -> Decimal:
    """Rounded to a multiple of `step`. What is half a step but for the rounding of conversions counts as half."""
    return amount.quantize(TRACE, context=WIDE).quantize(step, rounding=ROUND_HALF_EVEN, context=WIDE)


def in_places(amount: Decimal, currency: str) -> str:
    """The exact amount with at least the places of the currency's minor unit, as in `1,234.50`."""
    exponent = amount.normalize(WIDE).as_tuple().exponent
    places = max(MINOR_UNITS.get(currency, 2), -exponent if isinstance(exponent, int) else 0)
    return f"{amount:,.{places}f}"


def in_full(amount: Decimal, currency: str) -> str:
    """The same with the currency, as in `1,234.50 EUR`."""
    return f"{in_places(amount, currency)} {currency}"

"""Form fields for whole numbers and amounts, which people write in several conventions."""

import re
from decimal import Decimal

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from kit.values.amounts import plain


class AmountField(forms.DecimalField):
    """An exact decimal, shown as in the API."""

    def __init__(self, *, required: bool = True, label: str | None = None, help_text: str = "") -> None:
        widget = UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
        super().__init__(
            decimal_places=6, max_digits=19, widget=widget, required=required, label=label, help_text=help_text
        )

    def prepare_value(self, value: object) -> object:
        return editable_amount(value) if isinstance(value, Decimal) else value

    def clean(self, value: object) -> Decimal | None:
        amount: Decimal | None = super().clean(normalize_decimal(value) if isinstance(value, str) else value)
        return amount


AMBIGUOUS_NUMBER = re.compile(r"([-+]?[1-9]\d{0,2})[.,](\d{3})")  # thousands, or three decimals


def editable_amount(amount: Decimal) -> str:
    """Return an amount as a text for a form, which reads three decimals only with a further 0 (`1.1250`)."""
    text = plain(amount)
    return f"{text}0" if AMBIGUOUS_NUMBER.fullmatch(text) else text


def normalize_decimal(text: str) -> str:
    """Convert a number from either convention (`0,05`, `1.234,50`) to a decimal point without thousands separators.

    Raises Django's ValidationError for ambiguous numbers such as `1,200` and `1.200`.
    """
    number = text.strip()
    if match := AMBIGUOUS_NUMBER.fullmatch(number):
        whole, rest = match.groups()
        decimals = f"{rest}0" if rest[2] != "0" else rest[:2]
        raise forms.ValidationError(f"Write {whole}{rest} or {whole}.{decimals}: {number} could be either.")
    if "," not in number:
        return number
    if "." in number:
        thousands, decimal = (",", ".") if number.rindex(".") > number.rindex(",") else (".", ",")
        return number.replace(thousands, "").replace(decimal, ".")
    return number if number.count(",") > 1 else number.replace(",", ".")


class CountField(forms.IntegerField):
    """A whole number. Django reads `10.000` as 10; here it is refused, as some write ten thousand so."""

    def to_python(self, value: object) -> int | None:
        if isinstance(value, str) and (match := AMBIGUOUS_NUMBER.fullmatch(value.strip())):
            raise forms.ValidationError(f"Write {''.join(match.groups())}, without a separator.")
        number: int | None = super().to_python(value)
        return number

"""Form fields of what the API has too, and what they say as the API would be told it."""

from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from config.api.amounts import plain
from config.api.currencies import CURRENCIES
from config.api.timestamps import render_timestamp


class Lines(forms.CharField):
    """A list of strings, one on each line."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return (initial or []) != self.to_python(data)


class Amount(forms.DecimalField):
    """An exact decimal, shown in the spelling that the API has for it."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
        super().__init__(**{"decimal_places": 6, "max_digits": 19, "widget": widget, **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return plain(value) if hasattr(value, "normalize") else value


class Currency(forms.ChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        choices = [("", "–"), *((code, code) for code in CURRENCIES)]
        super().__init__(**{"choices": choices, "widget": UnfoldAdminSelectWidget, **kwargs})

    def clean(self, value: Any) -> Any:
        return super().clean(value) or None


def as_told(value: Any) -> Any:
    """A form's value as a value of JSON: what was left empty is null."""
    if isinstance(value, datetime):
        return render_timestamp(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return None if value == "" else value

"""Form fields of what the API has too, and what they say as the API would be told it.

The API keeps strings as they come; a form trims what it reads, and a browser has no newlines in a field of one line.
What nobody touched stays as it is stored all the same: `is_untouched`, `Lines.kept`.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from kit.values.amounts import plain
from kit.values.currencies import CURRENCIES
from kit.values.timestamps import render_timestamp


def lines(text: str) -> list[str]:
    """The values of a text that has one on each line, as browsers end lines: splitlines() knows more ends."""
    return [line.strip() for line in re.split(r"[\r\n]", text) if line.strip()]


def one_line(text: str) -> str:
    """What a browser makes of the value of a field of one line."""
    return re.sub(r"[\r\n]", "", text)


class SuggestingInput(UnfoldAdminTextInputWidget):
    """A field of one line that offers what is known; anything else can be entered too."""

    template_name = "operators/suggesting_input.html"

    def __init__(self, suggestions: Callable[[], Iterable[str]] = tuple, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suggestions = suggestions

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context = super().get_context(name, value, {**(attrs or {}), "list": f"known_{name}", "autocomplete": "off"})
        context["suggestions"] = list(self.suggestions())
        return context


class Lines(forms.CharField):
    """A list of strings, one on each line."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        return lines(value or "")

    def kept(self, stored: list[str] | None, read: list[str] | None) -> list[str] | None:
        """What was read, with each line that is stored already as it is stored."""
        spellings: dict[str, list[str]] = {}
        for line in reversed(stored or []):
            spellings.setdefault(line.strip(), []).append(line)
        return read and [spellings[line].pop() if spellings.get(line) else line for line in read]


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


def is_untouched(bound: forms.BoundField) -> bool:
    """Whether a field of text came back as the page had it: what is stored and what was sent read alike."""
    field, widget = bound.field, bound.field.widget
    if not isinstance(widget, forms.TextInput | forms.Textarea) or isinstance(field, forms.JSONField):
        return False  # their own has_changed trims nothing
    text = widget.format_value(field.prepare_value(bound.initial)) or ""
    shown = re.sub(r"\r\n|\r|\n", "\r\n", text) if isinstance(widget, forms.Textarea) else one_line(text)
    try:
        return bool(field.to_python(shown) == field.to_python(bound.data))
    except forms.ValidationError:
        return False


def changed_values(form: forms.BaseForm) -> dict[str, Any]:
    """What the fields say that were changed; of a list, each line that was not is as it is stored."""

    def read(name: str) -> Any:
        field, value = form.fields[name], form.cleaned_data[name]
        return field.kept(form[name].initial, value) if isinstance(field, Lines) else value

    return {name: read(name) for name in form.changed_data if name in form.cleaned_data}


def as_told(value: Any) -> Any:
    """A form's value as a value of JSON: what was left empty is null."""
    if isinstance(value, datetime):
        return render_timestamp(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return None if value == "" else value

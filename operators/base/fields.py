"""Form fields for the API's types, and conversion to JSON.

The API keeps strings unchanged, but forms trim input, and single-line fields drop newlines. Values that nobody edited
stay as stored (`is_untouched`, `LinesField.restore_spellings`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from django import forms
from django.db.models import Model
from django.forms.fields import InvalidJSONInput
from django.http import QueryDict
from rest_framework.serializers import BaseSerializer, Serializer
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from kit.http.errors import InvalidRequest
from kit.http.parsing import check_values, parse_value
from kit.values.currencies import CURRENCIES
from kit.values.decimals import plain
from kit.values.timestamps import render_timestamp
from operators.base.typed_numbers import AMBIGUOUS_NUMBER, editable_amount, normalise_decimal

Values: TypeAlias = dict[str, Any]  # of a form's fields


def split_lines(text: str) -> list[str]:
    """Split a text into non-empty lines as browsers end them; splitlines() recognises more line ends."""
    return [line.strip() for line in re.split(r"[\r\n]", text) if line.strip()]


def one_line(text: str) -> str:
    """Return the text as a browser shows it in a single-line field."""
    return re.sub(r"[\r\n]", "", text)


class CompositeWidget(forms.Widget):
    """A value spread over several inputs, assembled by `read_data`. Never omitted from a form."""

    def read_data(self, data: QueryDict) -> object:
        raise NotImplementedError

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> object:
        if not isinstance(data, QueryDict):
            raise TypeError("It is read from a submitted form.")
        return self.read_data(data)

    def value_omitted_from_data(self, data: object, files: object, name: str) -> bool:
        return False

    def id_for_label(self, id_: str) -> str:
        return ""

    def format_value(self, value: object) -> object:
        return value


class CheckboxGroup(forms.CheckboxSelectMultiple):
    """Checkboxes for several of many values, with one CSS class instead of unfold's thirty."""

    template_name = "operators/checkbox_group.html"


class SuggestingInput(UnfoldAdminTextInputWidget):
    """A single-line field with suggestions; accepts other values, too."""

    template_name = "operators/suggesting_input.html"

    def __init__(self, suggestions: Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self.suggestions = suggestions

    def get_context(self, name: str, value: object, attrs: Mapping[str, object] | None) -> dict[str, object]:
        context: dict[str, object] = super().get_context(
            name, value, {**(attrs or {}), "list": f"known_{name}", "autocomplete": "off"}
        )
        context["suggestions"] = list(self.suggestions())
        return context


class LineListField(forms.Field):
    """A list with one value per line."""

    def __init__(
        self,
        *,
        required: bool = False,
        label: str | None = None,
        initial: list[str] | None = None,
        help_text: str = "",
    ) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
        super().__init__(required=required, widget=widget, label=label, initial=initial, help_text=help_text)


class LinesField(LineListField):
    """A list of strings, one per line."""

    def prepare_value(self, value: object) -> object:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: str | None) -> list[str]:
        return split_lines(value or "")

    def restore_spellings(self, stored: list[str] | None, read: list[str] | None) -> list[str] | None:
        """Return the submitted lines, with unchanged ones as stored."""
        spellings: dict[str, list[str]] = {}
        for line in reversed(stored or []):
            spellings.setdefault(line.strip(), []).append(line)
        return read and [spellings[line].pop() if spellings.get(line) else line for line in read]


class StrictJsonField(forms.JSONField):
    """JSON parsed as strictly as API bodies. Invalid JSON is shown again unchanged."""

    def to_python(self, value: object) -> Any:
        if isinstance(value, str) and value not in self.empty_values:
            try:
                return parse_value(value, "This")
            except InvalidRequest as error:
                raise forms.ValidationError(error.message) from None
        return super().to_python(value)

    def bound_data(self, data: str | None, initial: object) -> object:
        try:
            self.to_python(data)
        except forms.ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)


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
        amount: Decimal | None = super().clean(normalise_decimal(value) if isinstance(value, str) else value)
        return amount


class CountField(forms.IntegerField):
    """A whole number. Django reads `10.000` as 10; here it is refused, as some write ten thousand so."""

    def to_python(self, value: object) -> int | None:
        if isinstance(value, str) and (match := AMBIGUOUS_NUMBER.fullmatch(value.strip())):
            raise forms.ValidationError(f"Write {''.join(match.groups())}, without a separator.")
        number: int | None = super().to_python(value)
        return number


class CurrencyField(forms.ChoiceField):
    def __init__(self, *, required: bool = True, label: str | None = None) -> None:
        choices = [("", "–"), *((code, code) for code in CURRENCIES)]
        super().__init__(choices=choices, widget=UnfoldAdminSelectWidget, required=required, label=label)

    def clean(self, value: object) -> str | None:
        return super().clean(value) or None


def text_field(label: str, help_text: str = "", *, required: bool = True, max_length: int = 255) -> forms.CharField:
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=required,
        max_length=max_length,
        widget=UnfoldAdminTextInputWidget(),
    )


def choice_field(
    label: str, choices: Sequence[tuple[str, object]], help_text: str = "", *, required: bool = True, initial: str = ""
) -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=choices,
        required=required,
        label=label,
        help_text=help_text,
        initial=initial,
        widget=UnfoldAdminSelectWidget(),
    )


def is_untouched(bound: forms.BoundField) -> bool:
    """Whether a text field was submitted unchanged, allowing for what browsers and forms normalise."""
    field = bound.field
    widget = bound.field.widget
    if not isinstance(widget, forms.TextInput | forms.Textarea) or isinstance(field, forms.JSONField):
        return False  # their own has_changed trims nothing
    text = widget.format_value(field.prepare_value(bound.initial)) or ""
    if isinstance(widget, forms.Textarea):
        displayed = re.sub(r"\r\n|\r|\n", "\r\n", text)
    else:
        displayed = one_line(text)
    try:
        return bool(field.to_python(displayed) == field.to_python(bound.data))
    except forms.ValidationError:
        return False


def changed_values(form: forms.BaseForm) -> dict[str, object]:
    """Return the values of changed fields; unchanged lines of a list stay as stored."""

    def read(name: str) -> object:
        field = form.fields[name]
        value = form.cleaned_data[name]
        return field.restore_spellings(form[name].initial, value) if isinstance(field, LinesField) else value

    return {name: read(name) for name in form.changed_data if name in form.cleaned_data}


def as_json(value: object) -> object:
    """Return a form value as JSON; empty becomes null, and an object its id."""
    if isinstance(value, Model):
        return value.pk
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return render_timestamp(value)
    if isinstance(value, date):
        return value.isoformat()
    return None if value == "" else value


def validate_fields(serializer: BaseSerializer, body: Mapping[str, object]) -> Values:
    """Validate the body with the endpoint's serializer. Raises ApiError or the serializer's ValidationError."""
    check_values(body, "", 0)
    fields: Values = serializer.run_validation(body)
    return fields


def build_body(
    serializer: Serializer, names: Mapping[str, str], changed: Mapping[str, object], cleaned: Mapping[str, object]
) -> Values:
    """Return a body of the API that sets the changed values. `names` has the path of each form field in it.

    `price.amount` is a part of an object, which is sent with all of its parts, or as null if they are all empty. Of an
    object of any keys, only changed parts are sent; `metadata.*` is a field with several of them.
    """
    body: Values = {}
    for name, value in changed.items():
        whole, _, part = names.get(name, "").partition(".")
        if isinstance(serializer.fields.get(whole), BaseSerializer) and part:
            paths = {path: other for other, path in names.items() if path.startswith(f"{whole}.")}
            parts = {path.partition(".")[2]: as_json(cleaned.get(other)) for path, other in paths.items()}
            body[whole] = None if set(parts.values()) == {None} else parts
        elif whole in serializer.fields:
            put_value(body, whole, part, value)
    return body


def put_value(body: Values, whole: str, part: str, value: Any) -> None:
    """Set a value of a body, or a part of it: one key, or with `*` all keys of a mapping."""
    if part == "*":
        body.setdefault(whole, {}).update(value)
    elif part:
        body.setdefault(whole, {})[part] = as_json(value)
    else:
        body[whole] = as_json(value)

"""A name to be typed before what cannot be undone."""

from django import forms
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminTextInputWidget


def with_typed_name(expected: str, form: type[forms.Form] = forms.Form) -> type[forms.Form]:
    """Return the form with a field `name`, which is valid only if the name is typed there."""

    def check(typed: str) -> None:
        if typed != expected.strip():
            raise forms.ValidationError(f"This is not the name. Type {expected}.")

    name = forms.CharField(
        label="Name",
        help_text=format_html("Type {} to confirm.", expected),
        validators=[check],
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    return type(form.__name__, (form,), {"name": name})

"""A list as a table, or with two lines per row on narrow screens.

Replaces unfold's, which repeats 500 bytes of classes in each cell. The first line is the ModelAdmin's
`phone_row_title`, the second its `phone_row_columns` (operators.base.model_admin).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from django import template
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import ManyToOneRel, Model
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from msgspec import Struct
from unfold.templatetags.unfold_list import result_headers
from unfold.utils import display_for_field, display_for_label, display_for_value
from unfold.views import ChangeList

from operators.base.times import shown_time

register = template.Library()

CHECKBOX = "action_checkbox"


class Column(Struct, frozen=True):
    """A column of a list; `word` precedes its value in a two-line row."""

    name: str
    css: str
    word: str = ""
    leads_on: bool = False  # whether it links to the row's object


@register.inclusion_tag("operators/list.html", takes_context=True)
def list_rows(context: Context, cl: ChangeList) -> dict[str, object]:
    columns = list(list_columns(cl))
    return {
        "cl": cl,
        "headers": [header for header in result_headers(cl) if header["class_attrib"] != "action-checkbox-column"],
        "has_checkboxes": CHECKBOX in cl.list_display,
        "rows": [row(cl, columns, obj) for obj in cl.result_list],
        "has_add_permission": cl.model_admin.has_add_permission(context["request"]),
    }


def list_columns(cl: ChangeList) -> Iterator[Column]:
    columns = [name for name in cl.list_display if name != CHECKBOX]
    links = [name for name in columns if name in (cl.list_display_links or ())] or columns[:1]
    first = getattr(cl.model_admin, "phone_row_title", "") or columns[0]
    facts: Mapping[str, str] = getattr(cl.model_admin, "phone_row_columns", {})
    css_classes = {name: f" row-fact fact-{number}" for number, name in enumerate(facts, 1)} | {first: " row-name"}
    for name in columns:
        yield Column(name, f"field-{name}{css_classes.get(name, '')}", facts.get(name, ""), name in links)


def row(cl: ChangeList, columns: list[Column], obj: Model) -> SafeString:
    cells = format_html_join("", "{}", ((cell(cl, column, obj),) for column in columns))
    if CHECKBOX not in cl.list_display:
        return format_html("<tr>{}</tr>", cells)
    return format_html(
        '<tr><td class="action-checkbox"><input type="checkbox" name="{}" value="{}" class="action-select"'
        ' aria-label="Select {}"></td>{}</tr>',
        ACTION_CHECKBOX_NAME,
        obj.pk,
        obj,
        cells,
    )


def cell(cl: ChangeList, column: Column, obj: Model) -> SafeString:
    """Render a cell. An empty cell has no link and does not appear in the second line."""
    text, is_empty = cell_text(cl, column.name, obj)
    tag = "td"
    if column.leads_on and not is_empty:
        tag = "th"
        kept = {"preserved_filters": cl.preserved_filters, "opts": cl.opts}
        address = add_preserved_filters(kept, cl.url_for_result(obj))
        text = format_html('<a class="row-link" href="{}">{}</a>', address, text)
    attributes = ""
    if column.word and not is_empty:
        attributes = format_html(' data-word="{}"', column.word)
    css = column.css
    if is_empty and "row-fact" in css:
        css = f"field-{column.name}"
    return format_html('<{} class="{}"{}>{}</{}>', tag, css, attributes, text, tag)


def cell_text(cl: ChangeList, name: str, obj: Model) -> tuple[str, bool]:
    """Return what a cell shows, and whether it is empty."""
    empty = str(cl.model_admin.get_empty_value_display())
    try:
        field, attribute, value = lookup_field(name, obj, cl.model_admin)
    except ObjectDoesNotExist:
        return empty, True
    empty = str(getattr(attribute, "empty_value_display", empty))
    if field is not None and not field.auto_created:
        if isinstance(field.remote_field, ManyToOneRel):
            related = getattr(obj, field.name)
            return str(related or empty), related is None
        if isinstance(value, datetime):
            text = shown_time(value)
        else:
            text = display_for_field(value, field, empty)
    elif value is None or value == "":
        return empty, True
    elif label := getattr(attribute, "label", False):
        text = mark_safe(display_for_label(value, empty, label).strip())  # noqa: S308 - unfold's template escapes
    else:
        boolean: bool = getattr(attribute, "boolean", False)
        text = display_for_value(value, empty, boolean)
    return text, text == empty

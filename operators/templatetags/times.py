"""Times in the operator's time zone: `{{ event.created|to_minute }}`."""

from datetime import datetime

from django import template
from django.db.models import Model
from django.utils.safestring import SafeString
from unfold.fields import UnfoldAdminReadonlyField

from operators.base.links import may_open
from operators.base.times import TO_DAY, TO_MINUTE, TO_SECOND, shown_time

register = template.Library()


@register.filter
def contents(field: UnfoldAdminReadonlyField) -> str:
    """Return what a read-only field of a form shows: for columns of lists, too, what the list says."""
    _, attribute, value = field.resolved_field or (None, None, None)
    if isinstance(value, datetime):
        return shown_time(value)
    if value is None or value == "":
        return getattr(attribute, "empty_value_display", field.contents())
    if isinstance(value, tuple):  # a label's kind and text
        return str(value[1])
    if isinstance(value, Model) and not may_open(type(value)):
        return str(value)
    return field.contents()


@register.filter
def to_day(moment: datetime) -> SafeString:
    return shown_time(moment, TO_DAY)


@register.filter
def to_minute(moment: datetime) -> SafeString:
    return shown_time(moment, TO_MINUTE)


@register.filter
def to_second(moment: datetime) -> SafeString:
    return shown_time(moment, TO_SECOND)

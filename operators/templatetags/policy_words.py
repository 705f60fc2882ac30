"""The values of a trace in words."""

from django import template

register = template.Library()


@register.filter
def join_values(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "nothing"
    return "nothing" if value is None else str(value)

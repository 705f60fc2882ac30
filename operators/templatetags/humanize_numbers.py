"""The admin's number format."""

from django import template

register = template.Library()


@register.filter
def grouped(value: int | None) -> str:
    """Format 1234567 as 1,234,567."""
    return f"{value or 0:,}"

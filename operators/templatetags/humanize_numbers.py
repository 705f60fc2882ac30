"""Numbers as the admin writes them."""

from typing import Any

from django import template

register = template.Library()


@register.filter
def grouped(value: Any) -> str:
    """1234567 as 1,234,567."""
    return f"{value or 0:,}"

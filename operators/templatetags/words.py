"""Objects in words: `{{ license|term }}`."""

from collections.abc import Mapping
from decimal import Decimal

from django import template
from django.utils import timezone

from kit.values.currencies import in_full
from licensing.licenses.models import License
from operators.base.figures import terms
from operators.catalogue.crawls import CLASSES
from operators.catalogue.site_terms import format_sums

register = template.Library()
register.filter(terms.scope)
register.filter(terms.term)
register.filter(terms.price)
register.filter(terms.access_price)
register.filter(in_full)
register.filter(terms.describe_charge)


@register.filter
def state(license_: License) -> str:
    return license_.state(timezone.now())


@register.filter
def sums(amounts: Mapping[str, Decimal]) -> str:
    """Return amounts by currency as text."""
    return format_sums(amounts)


@register.filter
def visitor_class(name: str) -> str:
    return CLASSES[name]

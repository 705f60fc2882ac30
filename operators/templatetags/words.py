"""Objects in words: `{{ license|term }}`."""

from collections.abc import Mapping
from decimal import Decimal

from django import template
from django.utils import timezone

from kit.values.currencies import in_full
from licensing.crawler_classes import CLASSES
from licensing.licenses.models import License
from licensing.policies.describe_rule import describe_rule
from operators.base.figures import terms
from operators.base.figures.choice import render_percent
from operators.base.links import link_to, row_link

register = template.Library()
register.filter("describe", describe_rule)
register.filter("scope", terms.scope_text)
register.filter("term", terms.term_text)
register.filter("price", terms.price_text)
register.filter("access_price", terms.access_price_text)
register.filter("fee", terms.fee_text)
register.filter(in_full)
register.filter(terms.minor_units)
register.filter(render_percent)
register.filter(terms.describe_charge)
register.filter(link_to)
register.filter(row_link)


@register.filter
def state(license_: License) -> str:
    return license_.state(timezone.now())


@register.filter
def sums(amounts: Mapping[str, Decimal]) -> str:
    """Return amounts by currency as text."""
    return terms.format_sums(amounts)


@register.filter
def visitor_class(name: str) -> str:
    return CLASSES[name].label

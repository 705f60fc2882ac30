"""The values of a trace in words."""

from django import template

from licensing.access.in_words import value_in_words

register = template.Library()
register.filter("join_values", value_in_words)

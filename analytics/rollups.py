"""The SQL that adds to the rollups: an upsert for each, from whatever rows `source` brings.

A source brings each key once, and in the key's order: writers that meet then wait for each other in turn.
"""

from datetime import date
from typing import Any

from django.db import connection

HOURLY = """
INSERT INTO analytics_hourlyusage AS u (account_id, hour, outcome, requests)
{source}
ON CONFLICT (account_id, hour, outcome) DO UPDATE SET requests = u.requests + excluded.requests
"""
YEARLY = """
INSERT INTO analytics_{one}year AS u (account_id, year, {one}_id, requests, allowed, m{month})
{source}
ON CONFLICT (account_id, {one}_id, year) DO UPDATE SET requests = u.requests + excluded.requests,
  allowed = u.allowed + excluded.allowed, m{month} = u.m{month} + excluded.m{month}
"""
MONTHLY = """
INSERT INTO analytics_{one}month AS u (account_id, month, {one}_id, d{day})
{source}
ON CONFLICT (account_id, month, {one}_id) DO UPDATE SET d{day} = u.d{day} + excluded.d{day}
"""
REVENUE = """
INSERT INTO analytics_{one}revenue AS u (account_id, day, currency, {key}, amount)
{source}
ON CONFLICT (account_id, day, currency, {key}) DO UPDATE SET amount = u.amount + excluded.amount
"""
REVENUE_KEYS = {"tier": "license_type", "requester": "requester_id", "content": "content_id"}


def month_number(day: date) -> int:
    """As in analytics.models.usage.Monthly."""
    return day.year * 12 + day.month - 1


def prepared(model: Any, column: str, value: Any) -> Any:
    """As it is stored: an id's text as its 16 bytes."""
    field = model._meta.get_field(column.removesuffix("_id"))
    field = field.target_field if field.is_relation else field
    return field.get_db_prep_value(value, connection)

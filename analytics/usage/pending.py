"""Pending decisions about one item or requester, on PostgreSQL (analytics.models.pending)."""

from typing import Literal

from analytics.rollups.roll_up import USAGE_LISTS

One = Literal["content", "requester"]
ARRAY_TYPES = {"content": "uuid[]", "requester": "bigint[]"}  # of the lists in pending rows


def pending_decisions(one: One) -> str:
    """Return a subquery with `hour` and `outcome` of each decision. Its parameters: the account, and the key twice.

    Skips lists without the key before expanding any.
    """
    return f"""(SELECT hour, outcome FROM (
      SELECT * FROM analytics_recentusage
      WHERE account_id = %s AND {one}s @> ARRAY[%s]::{ARRAY_TYPES[one]} OFFSET 0) pending, {USAGE_LISTS}
    WHERE {one}_id = %s) decision"""  # noqa: S608 - made of constants

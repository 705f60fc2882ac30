"""Looking up items by their ids on the event loop, for PostgreSQL: the same as licensing.lookup in a thread, exactly.

Where a catalogue is larger than what a process keeps of it, this is what most checks wait for.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import orjson

from config.api import ids
from config.api.async_postgres import Row, Sessions
from licensing.items import Item, description
from licensing.lookup import Found, Selector, Wanted, compiled_policies
from licensing.models import Status

# One statement sees one moment, so that the epoch is that of the items. It is planned once, perhaps on little data,
# and has to be right for a million items too. So it leaves the planner nothing but primary keys: OFFSET 0 keeps the
# other conditions, and with them other indexes, out of the look-up by id.
FIND = """
SELECT wanted.place, (SELECT epoch FROM accounts_account WHERE id = wanted.account),
  content.type, content.tags, content.category, content.status, content.policy_id,
  (SELECT version FROM licensing_policy WHERE id = content.policy_id)
FROM unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY AS wanted (account, content, place)
LEFT JOIN LATERAL (
  SELECT account_id, deleted_at, type, tags, category, status, policy_id
  FROM licensing_content WHERE id = wanted.content OFFSET 0
) content ON content.account_id = wanted.account AND content.deleted_at IS NULL
"""
# Otherwise it would be planned again each time: the planner thinks little of arrays that it does not know.
PLANNED_ONCE = """
SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)
"""
ARCHIVED = Status.ARCHIVED.value.encode()

Names = tuple[str, str]  # ids of an account and an item


def of_items_by_id(wanted: Wanted) -> bool:
    return not wanted.requesters and all(name == "contentId" for name, _ in wanted.selectors)


class AsyncLookup:
    def __init__(self) -> None:
        self.sessions = Sessions(PLANNED_ONCE)

    async def find_items(self, many: Sequence[Wanted]) -> list[Found | None]:
        """What there is of each; None where a policy must be compiled first, which is work for a thread.

        All have to be `of_items_by_id`. Raises Django's OperationalError.
        """
        keys: dict[Names, tuple[str, str]] = {}  # in hex; an item that several want is read once
        for wanted in many:
            account = ids.hex_of("acc", wanted.account_id)
            for _, content_id in wanted.selectors:
                # What is no id at all names no item.
                keys[wanted.account_id, content_id] = account, ids.hex_of("cnt", content_id) or "NULL"
        columns = [f"{{{','.join(column)}}}" for column in zip(*keys.values(), strict=True)]
        names = list(keys)
        rows = {names[int(place or 0) - 1]: row for place, *row in await self.sessions.run(FIND, columns)}
        return [found(wanted, keys, rows) for wanted in many]


def found(wanted: Wanted, keys: Mapping[Names, tuple[str, str]], rows: Mapping[Names, Row]) -> Found | None:
    items: dict[Selector, Item] = {}
    epoch: bytes | None = None
    for selector in wanted.selectors:
        name = wanted.account_id, selector[1]
        epoch, content_type, tags, named_category, status, uuid, version = rows[name]
        if content_type is None or tags is None:
            continue
        policy, policy_key = None, None
        if uuid is not None:
            policy_id, policy_key = policy_ids(uuid)
            policy = compiled_policies.cached.get((policy_id, int(version or 0)))
            if policy is None:
                return None
        category = None if named_category is None else named_category.decode()
        described = description(content_type.decode(), tuple(orjson.loads(tags)), category, status == ARCHIVED)
        items[selector] = Item(selector[1], keys[name][1], policy, policy_key, *described)
    if epoch is None:
        return None  # without an account there is nothing to be exact of
    return Found(int(epoch), items, {})


@lru_cache(maxsize=10_000)
def policy_ids(uuid: bytes) -> tuple[str, str]:
    """A policy's id, and its UUID in hex."""
    key = uuid.decode().replace("-", "")
    return ids.encode("pol", bytes.fromhex(key)), key

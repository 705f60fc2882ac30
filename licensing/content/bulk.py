"""Create and update many items at once (POST /v1/content/bulk); each row follows the rules of POST or PATCH."""

from collections.abc import Iterable
from copy import copy
from functools import cached_property

from accounts.bulk import AccountBulk
from kit.rest.bulk import Row
from kit.rest.serializers import StrictSerializer
from kit.storage.postgresql.statistics import gather_first_statistics
from kit.values.json_values import Validated
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.content.services import (
    apply_content,
    epoch_names,
    external_id_conflict,
    keep_policies,
    prepare_new_item,
    unknown_policy,
    write_items,
)
from licensing.content.url_key import url_epoch_names


class ContentBulk(AccountBulk[Content]):
    prefix = "cnt"
    short_name = "item"
    kind = "content"
    required = {"title": "title"}
    conflict = staticmethod(external_id_conflict)

    @classmethod
    def serializers(cls) -> tuple[StrictSerializer, StrictSerializer]:
        serializer = ContentSerializer(partial=True)
        return serializer, serializer

    def lock(self) -> Iterable[Content]:
        items = Content.objects.of(self.account_id)
        by_id = items.filter(pk__in={row.id for row in self.rows} - {None})
        by_external_id = items.filter(external_id__in={row.fields.get("external_id") for row in self.rows} - {None})
        keys = {*by_id.values_list("pk", flat=True), *by_external_id.values_list("pk", flat=True)}
        return items.filter(pk__in=keys).order_by("pk").select_for_update()

    @cached_property
    def policies(self) -> set[str]:
        """The policies that rows name, locked after the items, as the endpoints do."""
        return keep_policies(self.account_id, {row.fields.get("policy_id") for row in self.rows})

    def check_row(self, row: Row) -> None:
        policy_id = row.fields.get("policy_id")
        if policy_id is not None and policy_id not in self.policies:
            raise unknown_policy(policy_id)

    def create(self, fields: Validated) -> Content:
        item = Content(account_id=self.account_id, created=self.now, updated=self.now)
        apply_content(item, prepare_new_item(fields))
        self.note(None, item, {})
        return item

    def change(self, item: Content, fields: Validated) -> Content:
        changed = copy(item)
        apply_content(changed, fields)
        if not self.note(item, changed, item.audited()):
            return item
        changed.updated = self.now
        return changed

    def write(self, items: list[Content]) -> None:
        # In a fixed order, so that two requests that insert the same items wait instead of deadlocking.
        write_items(sorted(items, key=lambda item: item.external_id or ""))

    def epoch_names(self) -> set[str]:
        names: set[str] = set()
        for former, item in self.changed_resources:
            names |= epoch_names(item, is_new=former is None, former=url_epoch_names(former) if former else ())
        return names

    def gather_statistics(self) -> None:
        gather_first_statistics(Content, rows=sum(former is None for former, _ in self.changed_resources))

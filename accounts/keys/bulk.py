"""Create and change many API keys at once (POST /v1/api-keys/bulk), each row by the rules of its POST or PATCH."""

from collections.abc import Sequence

from accounts.auditing import audit
from accounts.keys import services
from accounts.keys.authentication import Grant
from accounts.keys.bounds import check_below_plan
from accounts.keys.models import ApiKey
from accounts.keys.serializers import ApiKeyChangeSerializer, ApiKeySerializer
from accounts.plans import epochs
from kit.rest.bulk import Bulk, Outcome, Row
from kit.rest.serializers import StrictSerializer


class KeyBulk(Bulk[ApiKey]):
    """One bulk request, run in a transaction.

    `texts` maps new keys' ids to their texts, which are stored nowhere else.
    """

    prefix = "key"
    short_name = "key"

    def __init__(self, account_id: str, rows: Sequence[Row], granted_by: Grant) -> None:
        """Lock the keys involved. Raises InvalidApiKey if the requesting key has ended since authentication."""
        super().__init__(rows)
        self.account_id = account_id
        changed = ApiKey.objects.filter(account_id=account_id, pk__in={row.id for row in rows} - {None})
        self.keys = services.lock_keys(granted_by.key_id, *changed.values_list("pk", flat=True))
        # A row that changes the requesting key restricts the rows after it.
        self.creator = self.keys[granted_by.key_id]
        Grant.from_key(self.creator).check()
        self.texts: dict[str, str] = {}
        self.created: list[ApiKey] = []
        self.changed: list[ApiKey] = []
        self.changes: list[audit.Change | None] = []

    @classmethod
    def serializers(cls) -> tuple[StrictSerializer, StrictSerializer]:
        return ApiKeySerializer(), ApiKeyChangeSerializer(partial=True)

    def act(self, row: Row) -> tuple[int, ApiKey]:
        if row.id is None:
            check_below_plan(row.fields.get("rate_limit"), self.creator.account.limits)
            key, text = services.build_key(self.account_id, self.creator, **row.fields)
            self.texts[key.pk] = text
            self.created.append(key)
            self.changes.append(audit.build_change("api_key.created", key, {}))
            return 201, key
        key = self.named(row, self.keys)
        change = services.change_key(key, row.fields, self.creator)
        if change is not None:
            self.changed.append(key)
            self.changes.append(change)
        return 200, key

    def run(self) -> list[Outcome[ApiKey]]:
        outcomes = self.outcomes()
        ApiKey.objects.bulk_create(self.created)
        ApiKey.objects.bulk_update(self.changed, services.CHANGEABLE_FIELDS)
        audit.record_all(self.changes)
        epochs.invalidate(self.account_id, {key.pk for key in self.changed})
        return outcomes

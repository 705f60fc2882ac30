"""A change of any number of items, applied in steps and undone in steps.

The items' ids and the former values of changed items are stored for a day in an Upload of the operator. An interrupted
change continues where it stopped.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import TypedDict

from django.db import transaction
from django.http import HttpRequest

from kit.http.errors import ApiError, ValidationFailed
from kit.rest.bulk import Row
from kit.values.json_values import Validated
from licensing.content.bulk import ContentBulk
from licensing.content.models import Content
from operators.catalogue.uploads import Upload

STEP_SECONDS = 2.0
CHUNK = 250  # items that are changed in a transaction, in which nobody else writes on SQLite

Value = str | None
Line = tuple[str, str, Value]  # account, item, and the item's former value if the file holds former values


class Progress(TypedDict):
    total: int  # number of items
    done: int
    changed: int
    at: int  # offset in the file


class ChangeMetadata(TypedDict):
    """The metadata of a change's Upload. Files of earlier versions have these keys, too."""

    verb: str
    field: str  # status or policy_id
    value: Value
    accounts: list[str]
    forth: Progress
    back: Progress | None  # set once it is being undone
    problem: str | None  # the error that ended it


class BulkChange:
    """A change. Its files: `data` with the items, `before` with former values; one JSON array per line."""

    def __init__(self, upload: Upload[ChangeMetadata]) -> None:
        self.upload = upload

    @classmethod
    def begin(
        cls, request: HttpRequest, items: Iterable[tuple[str, str]], verb: str, field: str, value: Value
    ) -> "BulkChange":
        """Create a change for `items`, pairs of id and account."""
        progress = new_progress()
        metadata: ChangeMetadata = {
            "verb": verb, "field": field, "value": value, "accounts": [], "forth": progress, "back": None,
            "problem": None,
        }  # fmt: skip

        def lines() -> Iterator[bytes]:
            """Write the items, counting them and their accounts."""
            accounts = set()
            for item, account in items:
                accounts.add(account)
                progress["total"] += 1
                yield file_line((account, item, None))
            metadata["accounts"] = sorted(accounts)

        return cls(Upload.store(request, lines(), metadata))

    @classmethod
    def find(cls, request: HttpRequest, token: str) -> "BulkChange | None":
        upload: Upload[ChangeMetadata] | None = Upload.find(request, token)
        return None if upload is None else cls(upload)

    @property
    def metadata(self) -> ChangeMetadata:
        return self.upload.metadata

    @property
    def progress(self) -> Progress:
        return self.metadata["back"] or self.metadata["forth"]

    @property
    def is_undoing(self) -> bool:
        return self.metadata["back"] is not None

    @property
    def is_over(self) -> bool:
        return self.metadata["problem"] is not None or self.progress["done"] >= self.progress["total"]

    @property
    def can_be_undone(self) -> bool:
        return self.is_over and not self.is_undoing and self.upload.path("before").exists()

    def undo(self) -> None:
        """Reverse the change: the next steps undo it."""
        with self.upload.locked():
            if self.can_be_undone:
                progress = new_progress()
                with self.upload.path("before").open("rb") as file:
                    progress["total"] = sum(1 for _ in file)
                self.metadata["back"] = progress
                self.metadata["problem"] = None
                self.upload.save()

    def step(self) -> None:
        """Process at least one chunk, for up to STEP_SECONDS. Raises ApiError if the new policy is gone."""
        end = monotonic() + STEP_SECONDS
        with self.upload.locked():
            while not self.is_over:
                self.next_chunk()
                if monotonic() > end:
                    break

    def next_chunk(self) -> None:
        progress = self.progress  # a part of the metadata, saved below
        with self.upload.path("before" if self.is_undoing else "data").open("rb") as file:
            file.seek(progress["at"])
            lines = list(islice(file, CHUNK))
        groups: defaultdict[tuple[str, Value], list[str]] = defaultdict(list)
        for account, item, former in map(json.loads, lines):
            groups[account, former].append(item)
        for account, former in sorted(groups, key=lambda group: (group[0], group[1] or "")):
            items = groups[account, former]
            try:
                if self.is_undoing:
                    progress["changed"] += self.change_back(account, items, former)
                else:
                    progress["changed"] += self.change(account, items)
            except ApiError as error:
                self.metadata["problem"] = error.message
                self.upload.save()
                raise
        progress["at"] += sum(map(len, lines))
        progress["done"] += len(lines)
        self.upload.save()

    @transaction.atomic
    def change(self, account: str, items: list[str]) -> int:
        """Change some items.

        Former values are written before the commit, so after a crash some may be unchanged ones.
        """
        field = self.metadata["field"]
        changed = change_items(account, items, {field: self.metadata["value"]})
        if changed:
            with self.upload.open_for_writing("before", append=True) as file:
                file.write(b"".join(file_line((account, former.pk, getattr(former, field))) for former in changed))
        return len(changed)

    @transaction.atomic
    def change_back(self, account: str, items: list[str], former: Value) -> int:
        """Restore some items, except those that someone changed since, or whose former policy is gone."""
        field = self.metadata["field"]
        value = self.metadata["value"]
        rows = Content.objects.of(account).filter(pk__in=items, **{field: value}).order_by("pk").select_for_update()
        try:
            return len(change_items(account, list(rows.values_list("pk", flat=True)), {field: former}))
        except ValidationFailed:
            return 0


@transaction.atomic
def change_items(account: str, items: Iterable[str], fields: Validated) -> list[Content]:
    """Change those of the account's items that are still there. Return the changed ones as they were before.

    Raises ValidationFailed for a policy that the account does not have; then nothing is changed.
    """
    present = Content.objects.of(account).filter(pk__in=items).order_by("pk").select_for_update()
    written = ContentBulk.write_rows(account, [Row(fields, pk) for pk in present.values_list("pk", flat=True)])
    for outcome in written.results:
        if outcome.error is not None:
            raise outcome.error
    return [former for former, _ in written.changed_resources if former is not None]


def new_progress() -> Progress:
    return {"total": 0, "done": 0, "changed": 0, "at": 0}


def file_line(line: Line) -> bytes:
    return json.dumps(line).encode() + b"\n"

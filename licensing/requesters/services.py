"""Operations on requesters, for endpoints, the admin and other services."""

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import AlreadyExists, InUse, NotFound
from kit.rest.metadata import merge_metadata
from licensing.requesters.models import FormerName, Requester

Fields = Mapping[str, object]


def get_requester(account_id: str, requester_id: str, *, lock: bool = False) -> Requester:
    """Return the account's requester with the publisher's own id. Raises NotFound."""
    rows = Requester.objects.filter(account_id=account_id, requester_id=requester_id)
    if lock:
        rows = rows.select_for_update()
    requester = rows.first()
    if requester is None:
        raise NotFound(f"There is no requester {requester_id[:100]!r}.")
    return requester


def get_names(requesters: Collection[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Return the names of those (account, id) that exist, and lock them until the transaction ends."""
    if not requesters:
        return {}
    accounts = {account for account, _ in requesters}
    requester_ids = {requester_id for _, requester_id in requesters}
    rows = Requester.objects.filter(account__in=accounts, requester_id__in=requester_ids).order_by("pk")
    stored = rows.select_for_update(no_key=True).values_list("account_id", "requester_id", "name")
    return {
        (account, requester_id): name
        for account, requester_id, name in stored
        if (account, requester_id) in requesters
    }


def customers_named(account_id: str, name: str) -> list[Requester]:
    """Return up to three customers with exactly this name, ignoring case. Returns none if the name is also the id of a
    customer; a requester known only from checks is no customer.
    """
    same_id = Requester.objects.filter(account_id=account_id, requester_id=name)
    if same_id.exclude(name=None, licenses_revision=None).exists():
        return []
    by_words = Requester.objects.filter(account_id=account_id, name__has_words=name)
    return [
        requester
        for requester in by_words.order_by("pk")[:100]
        if (requester.name or "").casefold() == name.casefold()
    ][:3]


@transaction.atomic
def create_requester(account_id: str, fields: Fields) -> Requester:
    """Create a requester. Raises AlreadyExists if the id is known, even if only from a check or licence."""
    epochs.lock_epoch(account_id)
    terms = {**fields, "metadata": merge_metadata({}, fields.get("metadata"))}
    requester, is_new = Requester.objects.get_or_create(
        account_id=account_id, requester_id=terms.pop("requester_id"), defaults=terms
    )
    if not is_new:
        raise AlreadyExists(f"There is a requester {requester.requester_id[:100]!r} already.", param="id")
    audit.record("requester.created", requester, {})
    epochs.invalidate(account_id, {requester.epoch_name})
    return requester


@transaction.atomic
def update_requester(requester: Requester, fields: Fields) -> Requester:
    """Change name, e-mail, notes or metadata. Writes nothing if nothing changes.

    Raises InUse if it was merged into another requester: nothing uses its own data any more.
    """
    epochs.lock_epoch(requester.account_id)
    locked = get_requester(requester.account_id, requester.requester_id, lock=True)
    before = locked.audited()
    for name, value in fields.items():
        setattr(locked, name, merge_metadata(locked.metadata, value) if name == "metadata" else value)
    if audit.diff(before, locked.audited()):
        if locked.merged_into is not None:
            former = locked.requester_id[:100]
            current = locked.merged_into.requester_id[:100]
            raise InUse(f"{former!r} was merged into {current!r}. Change {current!r} instead.")
        locked.updated = timezone.now()
        locked.save(update_fields=[*fields, "updated"])
        former_name = before["name"]
        if isinstance(former_name, str) and former_name != locked.name:
            FormerName.objects.create(requester=locked, name=former_name, until=locked.updated)
        audit.record("requester.updated", locked, before)
        epochs.invalidate(locked.account_id, {locked.epoch_name})
    return locked


def find_or_create(account_id: str, requester_id: str, name: str | None) -> Requester:
    """Return the requester with the publisher's own id, creating it if unknown. A name fills an empty one.

    For a merged id, returns the requester it was merged into, which keeps its name.
    """
    requester, _ = Requester.objects.select_related("merged_into").get_or_create(
        account_id=account_id, requester_id=requester_id, defaults={"name": name}
    )
    if requester.merged_into is not None:
        return requester.merged_into
    name_unnamed(requester, name)
    return requester


def current_ids(account_id: str, requester_ids: Iterable[object]) -> dict[str, str]:
    """Return the current ids of merged requesters, by their former ids."""
    merged_ones = Requester.objects.filter(account_id=account_id, requester_id__in=set(requester_ids) - {None})
    merged_again = merged_ones.filter(merged_into__isnull=False)
    return dict(merged_again.values_list("requester_id", "merged_into__requester_id"))


def create_missing(account_id: str, names: Mapping[str, str | None]) -> None:
    """Create requesters with these ids and names, ignoring those that another request has just created."""
    new = [
        Requester(account_id=account_id, requester_id=requester_id, name=names[requester_id])
        for requester_id in sorted(names)
    ]
    Requester.objects.bulk_create(new, ignore_conflicts=True)


def name_unnamed(requester: Requester, name: str | None) -> None:
    """Store the name if the requester has none. Only update_requester replaces a name."""
    if requester.name is None and name is not None:
        requester.name = name
        requester.save(update_fields=["name"])


def renew(requester: Requester) -> None:
    """Invalidate the requester's compiled licences. Call it with every change of a licence or client."""
    requester.licenses_revision = uuid4()
    requester.save(update_fields=["licenses_revision"])


def renew_all(requesters: Iterable[Requester], renamed: Iterable[Requester]) -> None:
    """Invalidate the compiled licences of several requesters, and store the names of those `renamed`."""
    ordered = sorted(requesters, key=attrgetter("pk"))
    for requester in ordered:
        requester.licenses_revision = uuid4()
    Requester.objects.bulk_update(ordered, ["licenses_revision"])
    Requester.objects.bulk_update(sorted(renamed, key=attrgetter("pk")), ["name"])

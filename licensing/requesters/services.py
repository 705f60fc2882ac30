"""What services share that write about requesters. Call them in the caller's transaction."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from uuid import uuid4

from licensing.requesters.models import Requester


def find_or_create(account_id: str, requester_id: str, name: str | None) -> Requester:
    """The requester with the caller's own id, who comes into being if need be; a name that is given renames him."""
    requester, _ = Requester.objects.get_or_create(
        account_id=account_id, requester_id=requester_id, defaults={"name": name}
    )
    if name is not None:
        rename(requester, name)
    return requester


def create_missing(account_id: str, named: Mapping[str, str | None]) -> None:
    """Requesters of these ids and names, but for those that somebody else has just created."""
    new = [Requester(account_id=account_id, requester_id=one, name=named[one]) for one in sorted(named)]
    Requester.objects.bulk_create(new, ignore_conflicts=True)


def rename(requester: Requester, name: str | None) -> None:
    if requester.name != name:
        requester.name = name
        requester.save(update_fields=["name"])


def renew(requester: Requester) -> None:
    """Ends what is compiled of the requester's licences and clients. Part of every change of one."""
    requester.licenses_revision = uuid4()
    requester.save(update_fields=["licenses_revision"])


def renew_all(requesters: Iterable[Requester], renamed: Iterable[Requester]) -> None:
    """The same of many; of those that are `renamed` the name is stored too."""
    ordered = sorted(requesters, key=attrgetter("pk"))
    for requester in ordered:
        requester.licenses_revision = uuid4()
    Requester.objects.bulk_update(ordered, ["licenses_revision"])
    Requester.objects.bulk_update(sorted(renamed, key=attrgetter("pk")), ["name"])

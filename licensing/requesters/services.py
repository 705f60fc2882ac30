"""What services share that write about requesters. Call them in the caller's transaction."""

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


def rename(requester: Requester, name: str | None) -> None:
    if requester.name != name:
        requester.name = name
        requester.save(update_fields=["name"])


def renew(requester: Requester) -> None:
    """Ends what is compiled of the requester's licences and clients. Part of every change of one."""
    requester.licenses_revision = uuid4()
    requester.save(update_fields=["licenses_revision"])

"""Stores verified names of crawlers' addresses in the database, so that a restart or another process knows them."""

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write
from licensing.edge.verification.models import AddressName

VALID = timedelta(days=1)


def find_names_now(addresses: Sequence[str]) -> list[AddressName | None]:
    """Return the stored names of the addresses; None for unknown or outdated ones."""
    rows = AddressName.objects.filter(address__in=set(addresses), looked_up_at__gt=timezone.now() - VALID)
    by_address = {row.address: row for row in rows}
    return [by_address.get(address) for address in addresses]


def keep_names_now(names: Sequence[AddressName]) -> list[None]:
    rows = {name.address: name for name in names}
    with turn_to_write():
        AddressName.objects.bulk_create(
            [rows[address] for address in sorted(rows)],  # in one order, so that processes cannot deadlock
            update_conflicts=True,
            unique_fields=["address"],
            update_fields=["name", "looked_up_at"],
        )
    return [None] * len(names)


def forget_outdated_names() -> int:
    """Delete outdated names and return their number."""
    with turn_to_write():
        deleted, _ = AddressName.objects.filter(looked_up_at__lte=stored_now() - VALID).delete()
    return deleted

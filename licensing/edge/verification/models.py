"""Database models of what verifies crawlers: names of their addresses, and lists that their operators publish."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import models
from django.utils import timezone

from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write

VALID = timedelta(days=1)  # after the lookup of a name


class AddressName(models.Model):
    """The verified DNS name of a crawler's address, shared by all processes for a day."""

    address = models.CharField(max_length=39, primary_key=True)  # IPv4 or IPv6, in its canonical spelling
    name = models.CharField(max_length=253)
    looked_up_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.address}: {self.name}"


class AddressList(models.Model):
    """The last good copy of a list of addresses that an operator publishes.

    `attempted_at` is set before each fetch, so that one process fetches it. `failure` says why the last fetch failed;
    it is empty if that succeeded.
    """

    url = models.CharField(max_length=2048, primary_key=True)
    ranges = models.JSONField(default=list)  # texts, as in 192.0.2.0/24
    fetched_at = models.DateTimeField(null=True)  # of the copy; None before the first good one
    attempted_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.url


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

"""Database models of what verifies crawlers: names of their addresses, and lists that their operators publish."""

from django.db import models


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

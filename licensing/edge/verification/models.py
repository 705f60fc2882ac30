"""Database model of crawlers' addresses that reverse DNS has verified."""

from django.db import models


class AddressName(models.Model):
    """The verified DNS name of a crawler's address, shared by all processes for a day."""

    address = models.CharField(max_length=39, primary_key=True)  # IPv4 or IPv6, in its canonical spelling
    name = models.CharField(max_length=253)
    looked_up_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.address}: {self.name}"

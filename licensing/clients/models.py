"""Database model of licence clients."""

from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models import Account
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp
from licensing.requesters.models import Requester


class LicenseClient(models.Model):
    """A requester's credentials at the licence server. Only a keyed digest and the prefix of the secret are stored."""

    id = IdField("cli", primary_key=True)  # the client_id
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="license_clients")
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="clients", verbose_name="customer")
    name = models.CharField(max_length=255)
    prefix = models.CharField(max_length=20, editable=False)  # of the current secret
    digest = models.BinaryField(max_length=32, editable=False)
    former_digest = models.BinaryField(max_length=32, null=True, editable=False)  # of the previous secret
    former_until = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "licence client"
        indexes = [models.Index(fields=["account", "-created", "-id"], name="clients_newest_first")]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"

    def digests(self, now: datetime) -> list[bytes]:
        """Return the digests of the secrets that are valid now."""
        if self.revoked_at is not None:
            return []
        digests = [bytes(self.digest)]
        if self.former_digest is not None and self.former_until is not None and now < self.former_until:
            digests.append(bytes(self.former_digest))
        return digests

    def audited(self) -> dict[str, object]:
        return {
            "requesterId": self.requester.requester_id,
            "name": self.name,
            "prefix": self.prefix,
            "formerSecretUntil": render_timestamp(self.former_until),
            "revokedAt": render_timestamp(self.revoked_at),
        }

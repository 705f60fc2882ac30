"""Database model of portal sessions."""

from datetime import datetime

from django.db import models

from accounts.models import Account
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp
from licensing.requesters.models import Requester


class PortalSession(models.Model):
    """A link to the portal and, once it is redeemed, the session that it began.

    `digest` is that of the link's token. Redeeming replaces it by that of the cookie, so that no link works twice.
    """

    id = IdField("pts", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+")
    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, related_name="portal_sessions")
    scopes = models.JSONField()
    return_url = models.CharField(max_length=2048, null=True)
    digest = models.BinaryField(max_length=32, unique=True)
    expires_at = models.DateTimeField()  # of the link, then of the session
    redeemed_at = models.DateTimeField(null=True)
    created = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"portal session of {self.requester}"

    def is_valid(self, now: datetime) -> bool:
        return now < self.expires_at and self.account.suspended_at is None

    def audited(self) -> dict[str, object]:
        return {
            "requesterId": self.requester.requester_id,
            "scopes": self.scopes,
            "returnUrl": self.return_url,
            "expiresAt": render_timestamp(self.expires_at),
        }

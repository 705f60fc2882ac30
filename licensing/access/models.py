"""The keys that decisions are signed with."""

from django.db import models
from django.db.models import Q

from kit.values.ids import IdField


class SigningKey(models.Model):
    """An Ed25519 key pair of the whole service. One of them is active; retired ones verify until `retires_at`."""

    id = IdField("sig", primary_key=True)  # the `kid` of tokens
    public = models.BinaryField(max_length=32)
    private = models.BinaryField()  # sealed: useless without the server's secret
    active = models.BooleanField(default=True)
    created = models.DateTimeField()
    retires_at = models.DateTimeField(null=True)  # of one that is not active any more

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["active"], condition=Q(active=True), name="one_signing_key_is_active")
        ]

    def __str__(self) -> str:
        return self.pk

"""The keys that decisions and licence tokens are signed with."""

from django.db import models
from django.db.models import Q

from kit.values.ids import IdField


class Algorithm(models.TextChoices):
    """What keys sign by, as JSON Web Algorithms call it."""

    EDDSA = "EdDSA"  # decisions, by Ed25519
    ES256 = "ES256"  # licence tokens, by P-256


class SigningKey(models.Model):
    """A key pair of the whole service. One of each algorithm is active; retired ones verify until `retires_at`."""

    id = IdField("sig", primary_key=True)  # the `kid` of tokens
    algorithm = models.CharField(max_length=5, choices=Algorithm.choices, db_default=Algorithm.EDDSA.value)
    public = models.BinaryField(max_length=64)  # the point of Ed25519; x and y of P-256
    private = models.BinaryField()  # sealed: useless without the server's secret
    active = models.BooleanField(default=True)
    created = models.DateTimeField()
    retires_at = models.DateTimeField(null=True)  # of one that is not active any more

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["algorithm"], condition=Q(active=True), name="one_active_key_an_algorithm")
        ]

    def __str__(self) -> str:
        return self.pk

"""Keys that sign decisions and licence tokens."""

from django.db import models
from django.db.models import Q

from kit.values.ids import IdField


class Algorithm(models.TextChoices):
    """Signature algorithms, by their JSON Web Algorithms names."""

    EDDSA = "EdDSA"  # decisions (Ed25519)
    ES256 = "ES256"  # licence tokens (P-256)


class SigningKey(models.Model):
    """A key pair of the whole service. One per algorithm is active; retired ones verify until `retires_at`."""

    id = IdField("sig", primary_key=True)  # the `kid` of tokens
    algorithm = models.CharField(max_length=5, choices=Algorithm.choices, db_default=Algorithm.EDDSA.value)
    public = models.BinaryField(max_length=64)  # Ed25519: the point; P-256: x and y
    private = models.BinaryField()  # encrypted with the server's secret
    active = models.BooleanField(default=True)
    created = models.DateTimeField()
    retires_at = models.DateTimeField(null=True)  # set once it is no longer active

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["algorithm"], condition=Q(active=True), name="one_active_key_an_algorithm")
        ]

    def __str__(self) -> str:
        return self.pk

"""Those who ask for content."""

from django.db import models
from django.utils import timezone

from accounts.models import Account


class Requester(models.Model):
    """Somebody who asks for content: the caller's own id and a name. Comes into being at the first check."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)  # the constraint's begins with it
    requester_id = models.CharField(max_length=255)
    name = models.CharField(max_length=255, null=True, blank=True)
    # A new one with every change of its licences (licensing.licenses.compiled); null for one that never had any.
    licenses_revision = models.UUIDField(null=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "requester_id"], name="requester_id_is_unique")]

    def __str__(self) -> str:
        return self.name or self.requester_id

    @property
    def epoch_name(self) -> str:
        """What accounts.plans.epochs calls it."""
        return str(self.pk)

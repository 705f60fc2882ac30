"""Those who ask for content."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import Account
from kit.values.numbers import NumbersOfTheApi

# The account as an expression, so that only lists use their index. With an index that begins with the column itself,
# PostgreSQL plans the look-up of a check by that one while the table is small, and keeps the plan when it has grown.
OWNER = Coalesce("account", "account")


class Requester(models.Model):
    """Somebody who asks for content, by the caller's own id. A first check or licence creates unknown ones."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)  # the constraint's begins with it
    requester_id = models.CharField(max_length=255)
    name = models.CharField(max_length=255, null=True, blank=True)
    email = models.EmailField(null=True, blank=True)
    notes = models.TextField(null=True, blank=True)
    metadata = models.JSONField(db_default={}, default=dict, blank=True, decoder=NumbersOfTheApi)
    # A new one with every change of its licences (licensing.licenses.compiled); null for one that never had any.
    licenses_revision = models.UUIDField(null=True, editable=False)
    # What checks know of its wallets (analytics.wallets.services.name_of); null for one that never had any.
    wallets = models.JSONField(null=True, editable=False)
    is_erased = models.BooleanField(db_default=False, default=False, editable=False)
    # What an erasure has left to do: the former id and texts; null before and after (licensing.customers.erasure).
    erasing = models.JSONField(null=True, editable=False)
    # The requester that this one was merged into; checks of this id are decided and recorded as that one's.
    merged_into = models.ForeignKey("self", on_delete=models.PROTECT, null=True, editable=False, db_index=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(null=True, editable=False)  # null until the first change by a person or the API

    class Meta:
        indexes = [
            models.Index(fields=["merged_into"], condition=Q(merged_into__isnull=False), name="merged_requesters"),
            models.Index(OWNER, "created", "id", name="requesters_newest_first"),
        ]
        constraints = [models.UniqueConstraint(fields=["account", "requester_id"], name="requester_id_is_unique")]

    def __str__(self) -> str:
        return self.name or self.requester_id

    @property
    def current(self) -> "Requester":
        """The requester that this one was merged into, or itself."""
        return self.merged_into or self

    @property
    def public_id(self) -> str:
        """The id by which the API and the audit log know it."""
        return self.requester_id

    def audited(self) -> dict[str, object]:
        return {
            "requesterId": self.requester_id,
            "name": self.name,
            "email": self.email,
            "notes": self.notes,
            "metadata": self.metadata,
        }

    @property
    def epoch_name(self) -> str:
        """What accounts.plans.epochs calls it."""
        return str(self.pk)

"""Requesters: whoever asks for content."""

from datetime import datetime
from uuid import uuid4

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.functional import cached_property

from accounts.models import Account
from kit.storage.loading import QuicklyLoaded
from kit.values.ids import RandomKey
from kit.values.numbers import NumbersOfTheApi

# The account as an expression, so that only lists use this index. If the index began with the plain column,
# PostgreSQL would use it for the lookups of checks while the table is small, and keep that plan when it has grown.
OWNER = Coalesce("account", "account")


class Requester(QuicklyLoaded, models.Model):
    """Whoever asks for content, named by the publisher's own id. Checks and licences create unknown requesters."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)  # covered by the constraint's index
    requester_id = models.CharField("customer's own id", max_length=255)
    name = models.CharField(max_length=255, null=True, blank=True)
    email = models.EmailField(null=True, blank=True)
    notes = models.TextField(null=True, blank=True)
    metadata = models.JSONField(db_default={}, default=dict, blank=True, decoder=NumbersOfTheApi)
    # Renewed with every change of its licences (licensing.licenses.compiled); null if it never had any.
    licenses_revision = models.UUIDField(null=True, editable=False)
    # Its wallets in the form that checks use (analytics.wallets.services.name_of); null if it never had any.
    wallets = models.JSONField(null=True, editable=False)
    is_erased = models.BooleanField(db_default=False, default=False, editable=False)
    # Seals what the audit log and events have of it (accounts.history). An erasure replaces it.
    history_key = models.UUIDField(null=True, default=uuid4, db_default=RandomKey(), editable=False)
    # State of an unfinished erasure: the former id and texts; otherwise null (licensing.customers.erasure).
    erasing = models.JSONField(null=True, editable=False)
    # The requester this one was merged into. Checks of this id are decided and recorded for that one.
    merged_into = models.ForeignKey("self", on_delete=models.PROTECT, null=True, editable=False, db_index=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(null=True, editable=False)  # null until the first change by a person or the API

    class Meta:
        verbose_name = "customer"  # the admin's word; the API says "requester"
        indexes = [
            models.Index(fields=["merged_into"], condition=Q(merged_into__isnull=False), name="merged_requesters"),
            models.Index(OWNER, "created", "id", name="requesters_newest_first"),
        ]
        constraints = [models.UniqueConstraint(fields=["account", "requester_id"], name="requester_id_is_unique")]

    def __str__(self) -> str:
        return self.name or self.requester_id

    @property
    def current(self) -> "Requester":
        """The requester this one was merged into, or itself."""
        return self.merged_into or self

    @cached_property
    def merged_ones(self) -> list["Requester"]:
        """The requesters that were merged into it."""
        return list(Requester.objects.filter(merged_into=self).order_by("pk"))

    @property
    def numbers(self) -> list[int]:
        """Its primary key, and those of the requesters that were merged into it."""
        return [one.pk for one in (self, *self.merged_ones)]

    @property
    def public_id(self) -> str:
        """The id used in the API and the audit log."""
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
        """The requester's name in accounts.plans.epochs."""
        return str(self.pk)

    def name_at(self, moment: datetime) -> str | None:
        """Return the name that it had at the time. If it had none, returns the first later one."""
        former_names = sorted(self.former_names.all(), key=lambda former: former.until)
        return next((former.name for former in former_names if former.until >= moment), self.name)


class FormerName(models.Model):
    """A name that a requester had until a change. Closed statements still show it."""

    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, related_name="former_names")
    name = models.CharField(max_length=255)
    until = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} until {self.until:%Y-%m-%d}"

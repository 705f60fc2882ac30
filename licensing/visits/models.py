"""Database models of daily visits and of how far they are counted."""

from django.db import models

from accounts.models import Account
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification


class VisitorDay(models.Model):
    """Decisions at the edge about one visitor on one UTC day, by how the visitor was identified."""

    # the unique constraint starts with it
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    requester = models.ForeignKey(Requester, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    identified_by = models.CharField(max_length=20, choices=[(one.value, one.words) for one in Identification])
    allowed = models.BigIntegerField()
    observed = models.BigIntegerField()  # allowed only because denials are observed
    denied = models.BigIntegerField()
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "requester", "identified_by"], name="one_row_per_visitor_and_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.requester_id} on {self.day}: {self.allowed + self.observed + self.denied}"


class VisitsCounted(models.Model):
    """A single row: decisions created before `until` are counted in VisitorDay."""

    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.until}"

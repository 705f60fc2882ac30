"""Database models of daily visits and of how far they are counted."""

from django.db import models

from accounts.models import Account
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.visits.figures import Visits


class DayOfVisits(models.Model):
    """Decisions at the edge on one UTC day about one visitor, by how the visitor was identified."""

    # Unique constraints of the tables start with the account.
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    requester = models.ForeignKey(Requester, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    identified_by = models.CharField(max_length=20, choices=[(one.value, one.words) for one in Identification])
    allowed = models.BigIntegerField()
    observed = models.BigIntegerField()  # allowed only because denials are observed
    denied = models.BigIntegerField()
    last_seen = models.DateTimeField()

    class Meta:
        abstract = True

    @property
    def visits(self) -> Visits:
        return Visits(self.allowed, self.observed, self.denied, self.last_seen)


class VisitorDay(DayOfVisits):
    """Decisions about all pages."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "requester", "identified_by"], name="one_row_per_visitor_and_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.requester_id} on {self.day}: {self.visits.total}"


class Page(models.Model):
    """A page requested at the edge, with the site that last decided about it."""

    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, db_index=False
    )  # the unique constraint has it first
    digest = models.BinaryField(max_length=16)  # of the URL, which is too long for an index
    url = models.TextField()  # https, without query; empty for all pages of a day beyond the first MOST_PAGES
    site = models.ForeignKey(
        "licensing.Site", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="one_row_per_page")]

    def __str__(self) -> str:
        return self.url


class PageDay(DayOfVisits):
    """Decisions about one page."""

    page = models.ForeignKey(Page, on_delete=models.CASCADE, db_index=False, related_name="days")
    violations = models.BigIntegerField(db_default=0)  # requests that the site's robots.txt disallows

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "page", "requester", "identified_by"],
                name="one_row_per_page_visitor_and_day",
            )
        ]
        indexes = [models.Index(fields=["page"], name="days_of_page")]

    def __str__(self) -> str:
        return f"{self.page_id} on {self.day}: {self.visits.total}"


class ReferralDay(models.Model):
    """Referrals from an AI or search service to one page on one UTC day."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    page = models.ForeignKey(Page, on_delete=models.CASCADE, db_index=False, related_name="referrals")
    host = models.CharField(max_length=253)  # as in the table of crawlers (licensing.edge.crawlers.Referrer)
    referrals = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "page", "host"], name="one_row_per_page_and_referrer")
        ]
        indexes = [models.Index(fields=["page"], name="referrals_of_page")]

    def __str__(self) -> str:
        return f"{self.host} to {self.page_id} on {self.day}: {self.referrals}"


class VisitsCounted(models.Model):
    """A single row: decisions created before `until` are counted in VisitorDay, PageDay and ReferralDay.

    `imports` grows with each write of imported decisions, which may be older than `until`.
    """

    until = models.DateTimeField()
    imports = models.BigIntegerField(db_default=0)

    def __str__(self) -> str:
        return f"{self.until}"

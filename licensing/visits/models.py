"""Usage at the edge by day, and how far it is counted."""

from django.db import models

from accounts.models import Account
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification


class Page(models.Model):
    """A page requested at the edge, with the site that last decided about it."""

    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, db_index=False
    )  # the unique constraint has it first
    digest = models.BinaryField(max_length=16)  # of the URL, which is too long for an index
    url = models.TextField()  # https, without query; empty for all pages of a day beyond the first usage.MAX_PAGES
    site = models.ForeignKey(
        "licensing.Site", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="one_row_per_page")]

    def __str__(self) -> str:
        return self.url


class UsageKind(models.IntegerChoices):
    """Which fields of EdgeUsage are the key of a row."""

    VISITOR = 1
    VISITOR_OF_PAGE = 2
    REFERRER = 3
    REFERRER_OF_PAGE = 4

    __hash__ = int.__hash__  # Enum's takes several times as long, and counting hashes each key

    @property
    def has_page(self) -> bool:
        return self in (UsageKind.VISITOR_OF_PAGE, UsageKind.REFERRER_OF_PAGE)


class EdgeUsage(models.Model):
    """Decisions at the edge on one UTC day, by visitor or referrer, of one page or of all pages.

    Columns that the kind does not count by are 0 or empty. Rows of all pages are few, and stay. Rows of one page are
    deleted after PAGE_RETENTION_DAYS.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    kind = models.PositiveSmallIntegerField()  # a UsageKind
    day = models.DateField()
    page = models.ForeignKey(
        Page, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="usage"
    )
    requester = models.ForeignKey(Requester, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    identified_by = models.CharField(max_length=20, blank=True)  # an Identification
    referrer = models.CharField(max_length=253, blank=True)  # a host of the table of referrers
    allowed = models.BigIntegerField()
    observed = models.BigIntegerField()  # allowed only because denials are observed
    denied = models.BigIntegerField()
    violations = models.BigIntegerField()  # disallowed by the site's robots.txt
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "kind", "day", "page", "requester", "identified_by", "referrer"],
                name="one_row_of_usage_per_day_and_key",
            )
        ]
        indexes = [models.Index(fields=["page"], name="usage_of_page")]

    def __str__(self) -> str:
        return f"{UsageKind(self.kind).label} on {self.day}: {self.allowed + self.observed + self.denied}"


class VisitsCounted(models.Model):
    """A single row: decisions created before `until` are counted in EdgeUsage.

    `imports` grows with each write of imported decisions, which may be older than `until`.
    """

    until = models.DateTimeField()
    imports = models.BigIntegerField(db_default=0)

    def __str__(self) -> str:
        return f"{self.until}"


# The version before counts in the following tables. licensing.visits.former_counts moves its counts to EdgeUsage. Both
# are removed one release later.


class FormerCounts(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()

    class Meta:
        abstract = True


class FormerVisits(FormerCounts):
    requester = models.ForeignKey(Requester, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    identified_by = models.CharField(max_length=20, choices=[(way.value, way.words) for way in Identification])
    allowed = models.BigIntegerField()
    observed = models.BigIntegerField()
    denied = models.BigIntegerField()
    last_seen = models.DateTimeField()

    class Meta:
        abstract = True


class VisitorDay(FormerVisits):
    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "requester", "identified_by"], name="one_row_per_visitor_and_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.requester_id} on {self.day}"


class PageDay(FormerVisits):
    page = models.ForeignKey(Page, on_delete=models.CASCADE, db_index=False, related_name="days")
    violations = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "page", "requester", "identified_by"],
                name="one_row_per_page_visitor_and_day",
            )
        ]
        indexes = [models.Index(fields=["page"], name="days_of_page")]

    def __str__(self) -> str:
        return f"{self.page_id} on {self.day}"


class ReferralDay(FormerCounts):
    page = models.ForeignKey(Page, on_delete=models.CASCADE, db_index=False, related_name="referrals")
    host = models.CharField(max_length=253)
    referrals = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "page", "host"], name="one_row_per_page_and_referrer")
        ]
        indexes = [models.Index(fields=["page"], name="referrals_of_page")]

    def __str__(self) -> str:
        return f"{self.host} to {self.page_id} on {self.day}"

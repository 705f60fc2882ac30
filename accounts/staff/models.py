"""What the admin keeps of each member of staff: account access, saved filters and the second factor."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.plans.models import Account


class StaffScope(models.Model):
    """Which accounts a member of staff sees in the admin; without one, none. Superusers see all."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scope")
    all_accounts = models.BooleanField(default=False, help_text="Also those that are yet to come.")
    accounts = models.ManyToManyField(Account, blank=True)

    class Meta:
        verbose_name = "account access"
        verbose_name_plural = "account access"

    def __str__(self) -> str:
        return f"account access of {self.user}"


class SavedFilter(models.Model):
    """A list of the admin as an operator filtered it: what follows the `?` of its address, under a name of theirs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters")
    listed = models.CharField(max_length=100)  # the model, such as "licensing.license"
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "listed", "name"], name="one_saved_filter_of_a_name")]

    def __str__(self) -> str:
        return self.name


class Authenticator(models.Model):
    """The app whose codes a member of staff signs in with."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="authenticator")
    secret = models.BinaryField()  # sealed: useless without the server's secret
    last_step = models.BigIntegerField()  # of the last code, which works once
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"authenticator of {self.user}"


class RecoveryCode(models.Model):
    """A single-use code for signing in without the authenticator app."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.BinaryField(max_length=32)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery code of {self.user}"

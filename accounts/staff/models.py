"""Data of each member of staff: account access, saved filters and second factor."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.plans.models import Account


class StaffScope(models.Model):
    """The accounts that a member of staff sees in the admin: none without a row, all for superusers."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scope")
    all_accounts = models.BooleanField(default=False, help_text="Also those that are yet to come.")
    accounts = models.ManyToManyField(Account, blank=True)

    class Meta:
        verbose_name = "account access"
        verbose_name_plural = "account access"

    def __str__(self) -> str:
        return f"account access of {self.user}"


class StaffTimeZone(models.Model):
    """The time zone in which a member of staff sees times. Without a row: UTC."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="time_zone"
    )
    name = models.CharField(max_length=64)  # such as "Europe/Berlin"

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class SavedFilter(models.Model):
    """A saved filter of an admin list: its query string under a name."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters")
    listed = models.CharField(max_length=100)  # model label, such as "licensing.license"
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "listed", "name"], name="one_saved_filter_of_a_name")]

    def __str__(self) -> str:
        return self.name


class Authenticator(models.Model):
    """A member of staff's authenticator app (TOTP)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="authenticator")
    secret = models.BinaryField()  # encrypted with the server's secret
    last_step = models.BigIntegerField()  # time step of the last code used; a code works once
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

"""Announcements of limits that are used up."""

from django.db import models


class LimitNotice(models.Model):
    """The announcement of a limit's use: once for each window and share (see accounts.limits.events)."""

    key = models.CharField(max_length=200, primary_key=True)
    ends_at = models.DateTimeField()  # the window

    class Meta:
        app_label = "accounts"

    def __str__(self) -> str:
        return self.key

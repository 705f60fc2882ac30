"""Announcements of used-up limits."""

from django.db import models


class LimitNotice(models.Model):
    """The announcement of a limit's use, once per window and share (see accounts.limits.events)."""

    key = models.CharField(max_length=200, primary_key=True)
    ends_at = models.DateTimeField()  # end of the window

    class Meta:
        app_label = "accounts"

    def __str__(self) -> str:
        return self.key

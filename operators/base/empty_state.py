"""What a page shows while it has no data."""

from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct


class EmptyState(Struct, frozen=True):
    """`text` says what will be here and where it comes from; `label` and `view` link to a page that creates it.

    Lists show their own add button beside it, if permitted.
    """

    text: str
    label: str = ""
    view: str = ""  # URL name in the admin
    permissions: tuple[str, ...] = ()  # needed to open it

    def shown(self, request: HttpRequest) -> dict[str, str]:
        """Return the context of operators/empty.html, without the link for those who may not open it."""
        opens = self.view and request.user.has_perms(self.permissions)
        return {"text": self.text, "label": self.label, "link": reverse(f"admin:{self.view}") if opens else ""}

"""What a page says while there is nothing to show."""

from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct


class EmptyState(Struct, frozen=True):
    """`text` says what will be there, and where it comes from; `label` and `view` lead to a page that brings it about.

    A list has the button that adds something beside it, where one may.
    """

    text: str
    label: str = ""
    view: str = ""  # a URL name of the admin
    permissions: tuple[str, ...] = ()  # to open it

    def shown(self, request: HttpRequest) -> dict[str, str]:
        """For operators/empty.html; without the link for those who may not open it."""
        opens = self.view and request.user.has_perms(self.permissions)
        return {"text": self.text, "label": self.label, "link": reverse(f"admin:{self.view}") if opens else ""}

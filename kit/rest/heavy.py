"""Heavy requests: those whose cost the client chooses. They have threads of their own (config.server.threads).

A viewset names its heavy actions in `heavy`. A list exported as a file is always heavy, and so is one counted to the
end (`count=exact`). The decorator marks a view that is a function or a method of the admin.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Model
from django.http import QueryDict
from django.urls import Resolver404, resolve

from kit.http.errors import InvalidRequest
from kit.rest.export import wanted_format
from kit.rest.views import ApiViewSet

View = TypeVar("View", bound=Callable[..., object])


def heavy(view: View) -> View:
    """Marks a view, whatever the method."""
    vars(view)["heavy"] = True
    return view


def view_at(path: str) -> Any:
    """The view of a path; None for what leads nowhere."""
    try:
        return resolve(path).func
    except Resolver404:
        return None


def action_of(view: Any, method: str) -> str | None:
    """The action of an endpoint of the API that a request asks for; None for other views and methods."""
    action: str | None = getattr(view, "actions", {}).get("get" if method == "HEAD" else method.lower())
    return action


def is_heavy(view: Any, method: str, query: bytes, accept: str) -> bool:
    """Of a request to a view, by what it asks for."""
    endpoint: type[ApiViewSet[Model]] | None = getattr(view, "cls", None)
    if endpoint is None:
        return getattr(view, "heavy", False)
    action = action_of(view, method)
    if action in endpoint.heavy or (action in endpoint.listing and b"count=exact" in query):
        return True
    if action not in endpoint.exportable:
        return False
    try:
        return wanted_format(QueryDict(query), accept) != "json"
    except InvalidRequest:
        return False

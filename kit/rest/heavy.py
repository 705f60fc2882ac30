"""Heavy requests, whose cost the client chooses. HEAVY_THREADS of them run at once (config.server.thread_pools).

A viewset names its heavy actions in `heavy`. Exports of a list, and lists with `count=exact`, are always heavy. The
decorator marks function views and methods of the admin.
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
    """Mark a view as heavy for every method."""
    vars(view)["heavy"] = True
    return view


def view_at(path: str) -> Any:
    """Return the view of a path, or None."""
    try:
        return resolve(path).func
    except Resolver404:
        return None


def action_of(view: Any, method: str) -> str | None:
    """Return the action of an API endpoint for this method, or None for other views and methods."""
    action: str | None = getattr(view, "actions", {}).get("get" if method == "HEAD" else method.lower())
    return action


def is_heavy(view: Any, method: str, query: bytes, accept: str) -> bool:
    """Whether a request to a view is heavy, judged by its action, query and `Accept`."""
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

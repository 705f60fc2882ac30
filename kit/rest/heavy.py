"""Which requests are heavy: those whose cost they choose themselves. They have threads of their own (see .threads).

An endpoint of the API names the actions in its class (`heavy`), and an exported list is heavy as a file. A view that
is a function or a method of the admin is marked by the decorator.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import QueryDict
from django.urls import Resolver404, resolve

from kit.http.errors import InvalidRequest
from kit.rest.export import wanted_format

View = TypeVar("View", bound=Callable[..., Any])


def heavy(view: View) -> View:
    """Marks a view, whatever the method."""
    vars(view)["heavy"] = True
    return view


def is_heavy(method: str, path: str, query: bytes, accept: str) -> bool:
    """Of a request, by its place and what it asks for. What leads nowhere is not."""
    try:
        view: Any = resolve(path).func
    except Resolver404:
        return False
    endpoint = getattr(view, "cls", None)
    if endpoint is None:
        return getattr(view, "heavy", False)
    action = view.actions.get("get" if method == "HEAD" else method.lower())
    if action in endpoint.heavy or action not in endpoint.exportable:
        return action in endpoint.heavy
    try:
        return wanted_format(QueryDict(query), accept) != "json"
    except InvalidRequest:
        return False

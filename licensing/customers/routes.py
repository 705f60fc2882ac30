"""Routes below a requester's path, whose own id may contain slashes."""

from collections.abc import Callable
from functools import update_wrapper
from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from licensing.customers.views import RequesterViewSet

detail_view = RequesterViewSet.as_view(
    {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}, detail=True
)


def post_below_path(view: Callable[..., HttpResponseBase], name: str) -> Callable[..., HttpResponseBase]:
    """Return a view of the POST at a requester's path and `name`.

    With other methods the path names a requester whose own id ends in `name`.
    """

    def dispatch(request: HttpRequest, id: str) -> HttpResponseBase:
        if request.method in ("POST", "OPTIONS"):
            return view(request, id=id)
        response = detail_view(request, id=f"{id}/{name}")
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response["Allow"] = f"{response['Allow']}, POST"
        return response

    # Has what Django, the OpenAPI document and tests expect of a view.
    return update_wrapper(dispatch, view)


merge_route = post_below_path(RequesterViewSet.as_view({"post": "merge"}, detail=True), "merge")

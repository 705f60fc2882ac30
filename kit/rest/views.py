"""The base of every endpoint: admission, strict queries, bodies, transactions and lists."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from kit.http.error_replies import forget_frames
from kit.http.errors import InvalidRequest, IpNotAllowed, MethodNotAllowed, MissingApiKey, ValidationFailed
from kit.http.parsing import PATCH_TYPES, read_object
from kit.http.queries import check_query, check_utf8
from kit.http.rendering import JSON, JSONRenderer
from kit.rest.conditional import entity_tag, has_state, is_known, precondition_failed
from kit.rest.deprecation_headers import add_deprecation_headers
from kit.rest.lists.mixin import ListMixin, M
from kit.rest.pagination import KeysetPagination
from kit.rest.read_only_fields import OWNED, check_owned
from kit.rest.resources import pick_fields
from kit.storage.sqlite_turns import turn_to_write
from kit.values.suggestions import did_you_mean

if TYPE_CHECKING:  # exist only in the type stubs
    from rest_framework.decorators import ViewSetAction
    from rest_framework.views import AsView, GenericView

SAFE_METHODS = frozenset({"GET", "HEAD"})
Handler = Callable[..., HttpResponse]


@cache
def validator(serializer_class: Any, *, partial: bool) -> Any:
    """Return the cached serializer that validates all bodies. Creating one per request would copy every field."""
    return serializer_class(data={}, partial=partial)


class ApiViewSet(ListMixin[M]):
    """A resource under /v1. Class attributes describe its actions by name.

    A write runs in one transaction, which any error rolls back.
    """

    # permissions that a key needs, all of them
    permissions_required: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    for_secret_keys: ClassVar[frozenset[str]] = frozenset()  # actions that public keys cannot call
    heavy: ClassVar[frozenset[str]] = frozenset()  # actions whose cost the client chooses (config.asgi)
    query_parameters: ClassVar[frozenset[str]] = frozenset()  # of GET, beyond those of pages, filters and files
    # actions that reply with an ETag
    tagged: ClassVar[frozenset[str]] = frozenset({"create", "retrieve", "partial_update"})
    conditional: ClassVar[frozenset[str]] = frozenset({"partial_update", "destroy"})  # actions that respect If-Match
    cache_control: ClassVar[str] = "private, no-cache"  # caches must revalidate with If-None-Match
    may_be_compressed: ClassVar[bool] = True  # False if replies contain secrets (kit.http.rendering)
    path_models: ClassVar[Mapping[str, type[Model]]] = {}  # models of further ids in the path
    exact_numbers: ClassVar[bool] = False  # True if the body may contain amounts of money (kit.rest.money)
    queryset: QuerySet[M]
    serializer_class: type[BaseSerializer[M]]
    lookup_field = "id"
    lookup_value_converter = "str"  # "path" if callers choose the ids, which may then contain slashes
    http_method_names = ["get", "post", "patch", "delete", "head"]
    format_kwarg = None  # there is only one format

    @classmethod
    def as_view(
        cls, actions: "dict[str, str | ViewSetAction] | None" = None, **initkwargs: object
    ) -> "AsView[GenericView]":
        # @extend_schema on an @action stores it here and on the method, where the OpenAPI document finds it. Passed on
        # to each request's view, it would keep the last one and its request in memory.
        initkwargs.pop("schema", None)
        return super().as_view(actions, **initkwargs)

    def required_permissions(self) -> tuple[str, ...]:
        """Return the permissions that the action needs, all of them; empty if it needs no key."""
        needed = self.permissions_required.get(self.action, ())
        return (needed,) if isinstance(needed, str) else needed

    # --- From request to handler -------------------------------------------------------------------------------------

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Admit the request in the order of `accounts.keys.callers.admit`. Raises the error of the refusing step."""
        request.accepted_renderer = JSONRenderer()
        request.accepted_media_type = JSON
        name = str(request.method).lower()
        if name not in self.http_method_names or not hasattr(self, name):
            allowed = ", ".join(self.allowed_methods)
            message = f"{request.method} is not possible here. Use {allowed}."
            raise MethodNotAllowed(message, headers={"Allow": allowed})
        try:
            self.perform_authentication(request)
        except (MissingApiKey, IpNotAllowed):
            request.auth = None  # also for a valid key from a forbidden address
            self.check_throttles(request)
            raise
        self.check_throttles(request)
        self.check_permissions(request)
        if query := request.META.get("QUERY_STRING", ""):
            check_utf8(query)
            check_query(request.query_params.lists(), self.known_parameters())
        if request.method not in SAFE_METHODS:
            self.read_body()

    def read_body(self) -> None:
        """Read the body before the write's transaction begins, so that the transaction never waits for a client."""
        self.request._request.body  # noqa: B018

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **kwargs: object) -> Response:
        raise AssertionError("initial() refuses such a method")

    @property
    def allowed_methods(self) -> list[str]:
        return [name.upper() for name in self.http_method_names if hasattr(self, name)]

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        self.args, self.kwargs = args, kwargs
        self.request = wrapped = self.initialize_request(request, *args, **kwargs)
        self.headers: dict[str, str] = {}  # DRF would send Allow with every reply; it belongs to a 405
        try:
            if request.method == "OPTIONS":
                response = self.describe_options()
            else:
                self.initial(wrapped, *args, **kwargs)
                handler = getattr(self, str(request.method).lower())
                if request.method in SAFE_METHODS:
                    response = handler(wrapped, *args, **kwargs)
                else:
                    response = self.write(handler, wrapped, *args, **kwargs)
        except Exception as exc:  # one handler answers all errors and logs unexpected ones
            response = self.get_exception_handler()(exc, self.get_exception_handler_context())
            forget_frames(exc)
        finalized = self.finalize_response(wrapped, response, *args, **kwargs)
        # View, request, parser context and Django's messages form cycles, which would keep the request's body and
        # rows, and the reply's, in memory until the next garbage collection. The renderer clears its own context.
        request._body = b""
        wrapped.parser_context.clear()
        del self.request
        return finalized

    def describe_options(self) -> HttpResponse:
        """Return the methods and media types of this path; needs no key."""
        headers = {"Allow": ", ".join(self.allowed_methods)}
        if "PATCH" in self.allowed_methods:
            headers["Accept-Patch"] = ", ".join(PATCH_TYPES)
        response = HttpResponse(status=204, headers=headers)
        del response.headers["Content-Type"]
        return response

    def finalize_response(self, request: Request, response: Any, *args: object, **kwargs: object) -> Response:
        """Add caching and deprecation headers to any response, not only DRF's own."""
        finalized = super().finalize_response(request, response, *args, **kwargs)
        finalized.headers.setdefault("Cache-Control", self.cache_control)
        vars(finalized)["may_be_compressed"] = self.may_be_compressed
        if settings.DEPRECATIONS:
            add_deprecation_headers(self.request, finalized)
        return finalized

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        with turn_to_write(), transaction.atomic():
            return handler(request, *args, **kwargs)

    # --- Query and body ----------------------------------------------------------------------------------------------

    def known_parameters(self) -> frozenset[str]:
        if self.request.method not in SAFE_METHODS:
            return frozenset()
        names = self.query_parameters
        if self.action in self.listing:
            names |= KeysetPagination.parameters
            if self.filterset_class:
                names |= self.filterset_class.base_filters.keys()
        if self.has_fields():
            names |= {"fields"}
        if self.action in self.exportable:
            names |= {"format", "after", "bom"} if self.action in self.listing else {"format"}
        return names

    def has_fields(self) -> bool:
        """Whether the reply shows resources, so that `fields` applies."""
        return self.serializer_class is not None and (self.action in self.listing or self.action == "retrieve")

    @property
    def has_rows(self) -> bool:
        """Whether the body has rows, which are refused one by one (kit.rest.bulk)."""
        return self.action == "bulk"

    def validated(
        self, serializer_class: type[BaseSerializer] | None = None, *, partial: bool = False
    ) -> dict[str, Any]:
        """Validate the body and return its fields by Python name."""
        fields = read_object(self.request._request, exact=self.exact_numbers, has_rows=self.has_rows)
        chosen: Any = serializer_class or self.get_serializer_class()
        return validator(chosen, partial=partial).run_validation(fields)

    def validated_change(self, resource: M, serializer_class: type[BaseSerializer] | None = None) -> dict[str, Any]:
        """Validate the body of a PATCH of this resource and return its fields by Python name.

        A field that the service owns is ignored if it has the value that the resource shows. Raises ValidationFailed
        if it has another one.
        """
        chosen: Any = serializer_class or self.get_serializer_class()
        serializer = validator(chosen, partial=True)
        body = read_object(self.request._request, exact=self.exact_numbers)
        fields: dict[str, object] = serializer.run_validation(body)
        shown_once: frozenset[str] = getattr(self.serializer_class, "shown_once", frozenset())
        owned = {name for name, field in serializer.fields.items() if field.read_only} | serializer.owned
        if sent := [name for name in body if name in owned - shown_once]:
            check_owned(body, self.shown_to_change(resource), sent, getattr(chosen, "growing", frozenset()))
        for name in body.keys() & shown_once:
            if not self.was_shown(resource, body[name]):
                raise ValidationFailed(OWNED, param=name)
        return fields

    def was_shown(self, resource: M, value: object) -> bool:
        """Return whether a value in `shown_once` can be what the reply of the resource's creation showed."""
        return True

    def shown_now(self, resource: M) -> Mapping[str, object]:
        """Return the resource as its retrieval shows it now."""
        return self.serializer_class(resource).data

    def shown_to_change(self, resource: M) -> Mapping[str, object]:
        """Return the resource with all that a client may have read of it."""
        return self.shown_now(resource)

    def expansions(self, *relations: str) -> frozenset[str]:
        """Return the relations in `expand` (comma-separated). Raises InvalidRequest for others than `relations`."""
        text = self.request.query_params.get("expand")
        relations_to_expand = frozenset(text.split(",")) if text is not None else frozenset()
        if not relations_to_expand <= set(relations):
            suggestion = did_you_mean(text, relations)
            raise InvalidRequest(f"expand takes: {', '.join(relations)}.{suggestion}", param="expand")
        return relations_to_expand

    # --- Replies -----------------------------------------------------------------------------------------------------

    def find(self, rows: QuerySet[M]) -> M:
        """Return the row that the path names. Raises NotFound."""
        return self.row_of(rows, self.kwargs["id"])

    def get_object(self) -> M:
        return self.find(self.get_queryset())

    def get_object_to_change(self) -> M:
        """Return the resource to change; with If-Match, lock it and compare its state.

        Raises NotFound, or PreconditionFailed if the state differs.
        """
        if_match = self.request.headers.get("If-Match")
        if if_match is None:
            return self.get_object()
        self.lock_first()
        locked = self.find(self.get_queryset().select_for_update(of=("self",)))
        if not has_state(if_match, entity_tag(self.serializer_class, self.serializer_class(locked).data)):
            raise precondition_failed(entity_tag(self.serializer_class, self.shown_now(locked)))
        return locked

    def lock_first(self) -> None:
        """Take the locks that must precede the resource's own."""

    def answer(
        self, resource: M, status: int = 200, *, once: Mapping[str, object] | None = None, **context: object
    ) -> HttpResponse:
        """Return the rendered resource as the reply, with the fields `once` that only this reply shows."""
        return self.with_tag(self.serializer_class(resource, context=context).data, status, once)

    def with_tag(
        self,
        shown: Mapping[str, object],
        status: int,
        once: Mapping[str, object] | None = None,
        location: str | None = None,
    ) -> HttpResponse:
        """Return a rendered resource with its ETag, `Location` if it is new, or a 304 if the client has it.

        `once` adds fields that only this reply shows. `location` replaces the address of this endpoint's resource.
        """
        fields = self.fields_to_show()
        headers = {"ETag": entity_tag(self.serializer_class, shown)}
        if_none_match = self.request.headers.get("If-None-Match") if self.request.method in SAFE_METHODS else None
        if if_none_match is not None and is_known(if_none_match, headers["ETag"]):
            return HttpResponseNotModified(headers=headers)
        if status == 201:
            headers["Location"] = location or reverse(f"{self.basename}-detail", args=[shown["id"]])
        fields_shown = {**shown, **(once or {})}
        return Response(
            fields_shown if fields is None else pick_fields(fields_shown, fields), status=status, headers=headers
        )

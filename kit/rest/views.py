"""The base of every endpoint: the steps of its admission, strict queries, bodies, transactions and lists."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote_to_bytes

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from kit.http.admission import Steps, admit, run_blocking
from kit.http.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, error_response, forget_frames
from kit.http.parsing import PATCH_TYPES, read_object
from kit.rest.conditional import check_if_match, entity_tag, is_known
from kit.rest.export import CHUNK, columns_of, export, wanted_format
from kit.rest.filters import StrictFilterBackend
from kit.rest.pagination import KeysetPagination, parse_limit
from kit.rest.resources import find
from kit.storage.sqlite_turns import turn_to_write

SAFE_METHODS = frozenset({"GET", "HEAD"})


def check_utf8(query: str) -> None:
    """Refuses a parameter whose bytes are no text, which Django would replace by question marks."""
    for part in query.split("&"):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            name = part.partition("=")[0][:100]
            raise InvalidRequest(f"{name} is not UTF-8.", param=name) from None


def check_query(parameters: Iterable[tuple[str, list[str]]], known: frozenset[str]) -> None:
    """Refuses a parameter that the endpoint does not know, and one given twice, except for `field[in]`."""
    for name, values in parameters:
        if name not in known:
            raise InvalidRequest(f"There is no query parameter {name[:100]!r} here.", param=name[:100])
        if len(values) > 1 and not name.endswith("[in]"):
            raise InvalidRequest(f"{name} is given {len(values)} times.", param=name)
        if any("\0" in value for value in values):
            raise InvalidRequest("Text must not contain the character U+0000.", param=name)


def forget_renderer_context(response: Any) -> None:
    response.renderer_context = {}


class ApiViewSet(Steps, GenericViewSet):
    """A resource under /v1. What differs between its actions is told by tables, keyed by their names.

    A request that writes runs in one transaction, which an error rolls back whole.
    """

    permissions_required: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}  # what a key needs: all of these
    listing: ClassVar[frozenset[str]] = frozenset({"list"})  # actions that answer with a page
    exportable: ClassVar[Mapping[str, str]] = {}  # actions that answer with a file, too, and what it is called
    heavy: ClassVar[frozenset[str]] = frozenset()  # actions whose cost a request chooses (kit.rest.heavy)
    query_parameters: ClassVar[frozenset[str]] = frozenset()  # of GET, beside those of pages, filters and files
    tagged: ClassVar[frozenset[str]] = frozenset({"create", "retrieve", "partial_update"})  # that answer with an ETag
    conditional: ClassVar[frozenset[str]] = frozenset({"partial_update", "destroy"})  # that If-Match can hold up
    cache_control: ClassVar[str] = "private, no-cache"  # kept, if at all, to be asked for again with If-None-Match
    may_be_compressed: ClassVar[bool] = True  # False where replies have secrets (kit.http.compression)
    exact_numbers: ClassVar[bool] = False  # True where a body may have amounts of money (kit.rest.money)
    serializer_class: Any = None
    filterset_class: Any = None
    filter_backends: tuple[type[StrictFilterBackend], ...] = (StrictFilterBackend,)
    pagination_class: Any = KeysetPagination
    lookup_field = "id"
    http_method_names = ["get", "post", "patch", "delete", "head"]
    format_kwarg = None  # there is one format

    @classmethod
    def as_view(cls, actions: Any = None, **initkwargs: Any) -> Any:
        # @extend_schema puts it there on an @action, for the OpenAPI document, which finds it at the method too. Given
        # to each request's view, it would keep the last of them, and their requests, in memory.
        initkwargs.pop("schema", None)
        return super().as_view(actions, **initkwargs)

    def required_permissions(self) -> tuple[str, ...]:
        """What a key needs for the action: all of these; none where no key is asked for."""
        needed = self.permissions_required.get(self.action, ())
        return (needed,) if isinstance(needed, str) else needed

    # --- From request to handler -------------------------------------------------------------------------------------

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Admits the request, or raises what refuses it."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        run_blocking(admit(self))

    def check_method(self) -> None:
        if self.request.method not in self.allowed_methods:
            raise MethodNotAllowed(
                f"{self.request.method} is not possible here.", headers={"Allow": ", ".join(self.allowed_methods)}
            )

    async def authenticate(self) -> None:
        self.perform_authentication(self.request)

    async def count(self) -> None:
        self.check_throttles(self.request)

    async def count_stranger(self, refusal: ApiError) -> None:
        self.request.auth = None  # also of a key that does not hold for this address
        self.check_throttles(self.request)

    def authorize(self) -> None:
        self.check_permissions(self.request)

    def check_query(self) -> None:
        check_utf8(self.request.META.get("QUERY_STRING", ""))
        check_query(self.request.query_params.lists(), self.known_parameters())

    async def read_body(self) -> None:
        """Before the transaction of a write begins, which must not wait for a client."""
        if self.request.method not in SAFE_METHODS:
            self.request._request.body  # noqa: B018

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        raise AssertionError("check_method() refuses such a method")

    @property
    def allowed_methods(self) -> list[str]:
        return [name.upper() for name in self.http_method_names if hasattr(self, name)]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.args, self.kwargs = args, kwargs
        self.request = wrapped = self.initialize_request(request, *args, **kwargs)
        self.headers: dict[str, str] = {}  # DRF would say Allow on every reply; it belongs to a 405
        try:
            if request.method == "OPTIONS":
                response = self.told_options()
            else:
                self.initial(wrapped, *args, **kwargs)
                handler = getattr(self, str(request.method).lower())
                if request.method in SAFE_METHODS:
                    response = handler(wrapped, *args, **kwargs)
                else:
                    response = self.write(handler, wrapped, *args, **kwargs)
        except Exception as exc:  # one handler answers every error; what is unforeseen is logged there
            response = self.handle_exception(exc)
            forget_frames(exc)
        return self.let_go(self.finalize_response(wrapped, response, *args, **kwargs))

    def let_go(self, response: HttpResponse) -> HttpResponse:
        """Lets go of the request's body and rows, and of the reply's when it is rendered.

        View, request, parser context, renderer context and Django's messages refer to each other in cycles, which
        would keep all of it in memory until the next collection of garbage.
        """
        self.request._request._body = b""
        self.request.parser_context.clear()
        del self.request
        if isinstance(response, Response):
            response.add_post_render_callback(forget_renderer_context)
        return response

    def told_options(self) -> HttpResponse:
        """What is possible here, which needs no key."""
        headers = {"Allow": ", ".join(self.allowed_methods)}
        if "PATCH" in self.allowed_methods:
            headers["Accept-Patch"] = ", ".join(PATCH_TYPES)
        response = HttpResponse(status=204, headers=headers)
        del response.headers["Content-Type"]
        return response

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        finalized: Any = super().finalize_response(request, response, *args, **kwargs)
        finalized.headers.setdefault("Cache-Control", self.cache_control)
        finalized.may_be_compressed = self.may_be_compressed
        return finalized

    def write(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        with turn_to_write(), transaction.atomic():
            return handler(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        return self.get_exception_handler()(exc, self.get_exception_handler_context())

    # --- Query and body ----------------------------------------------------------------------------------------------

    def known_parameters(self) -> frozenset[str]:
        if self.request.method not in SAFE_METHODS:
            return frozenset()
        known = self.query_parameters
        if self.action in self.listing:
            known |= KeysetPagination.parameters
            if self.filterset_class:
                known |= self.filterset_class.base_filters.keys()
        return known | {"format"} if self.action in self.exportable else known

    def validated(self, serializer_class: Any = None, **options: Any) -> dict[str, Any]:
        """The body's fields by their Python names, checked by the serializer."""
        serializer = (serializer_class or self.get_serializer_class())(
            data=read_object(self.request._request, exact=self.exact_numbers),
            context=self.get_serializer_context(),
            **options,
        )
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data

    def expansions(self, *relations: str) -> frozenset[str]:
        """The relations that `expand` (comma-separated) asks for, of those that can be embedded."""
        text = self.request.query_params.get("expand")
        asked = frozenset(text.split(",")) if text is not None else frozenset()
        if not asked <= set(relations):
            raise InvalidRequest(f"expand takes: {', '.join(relations)}.", param="expand")
        return asked

    # --- Replies -----------------------------------------------------------------------------------------------------

    def get_object(self) -> Any:
        return find(self.get_queryset(), self.kwargs["id"])

    def get_object_to_change(self) -> Any:
        """The same for a request that changes it. With If-Match it is what the client has seen, and locked, so that it
        stays that until it is changed. Raises PreconditionFailed."""
        wanted = self.request.headers.get("If-Match")
        if wanted is None:
            return self.get_object()
        self.lock_first()
        locked = find(self.get_queryset().select_for_update(of=("self",)), self.kwargs["id"])
        check_if_match(wanted, self.tag_of(self.serializer_class(locked).data))
        return locked

    def lock_first(self) -> None:
        """Takes the locks that the service takes before the resource's own."""

    def tag_of(self, shown: Mapping[str, Any]) -> str:
        return entity_tag(shown, getattr(self.serializer_class, "beside_state", frozenset()))

    def answer(self, resource: Any, status: int = 200, **context: Any) -> HttpResponse:
        """The resource as the serializer shows it."""
        return self.with_tag(self.serializer_class(resource, context=context).data, status)

    def with_tag(self, shown: Mapping[str, Any], status: int, once: Mapping[str, Any] | None = None) -> HttpResponse:
        """The resource with its entity tag, a new one with its address too; nothing to a client that has it already.

        `once` is what this reply alone shows.
        """
        headers = {"ETag": self.tag_of(shown)}
        known = self.request.headers.get("If-None-Match") if self.request.method in SAFE_METHODS else None
        if known is not None and is_known(known, headers["ETag"]):
            return HttpResponseNotModified(headers=headers)
        if status == 201:
            headers["Location"] = reverse(f"{self.basename}-detail", args=[shown["id"]])
        return Response({**shown, **(once or {})}, status=status, headers=headers)

    def page(self, queryset: QuerySet | None = None, **context: Any) -> Any:
        """A page of what matches the query in `queryset`, by default the view's own; as a file, all of it."""
        rows = self.get_queryset() if queryset is None else queryset
        if self.filterset_class:
            rows = self.filter_queryset(rows)
        name = self.exportable.get(self.action)
        form = wanted_format(self.request.query_params, self.request.headers.get("Accept", "")) if name else "json"
        paginator: Any = self.paginator
        if name and form != "json":
            # A file has everything that matches. Clients send their default `limit` with every list, and it must not
            # cut a file short; a cursor nobody sends by accident.
            parse_limit(self.request.query_params.get("limit"))
            if "cursor" in self.request.query_params:
                raise InvalidRequest("A file has everything that matches: it takes no cursor.", param="cursor")
            chunks = (self.shown(chunk, context) for chunk in paginator.walk(rows, self.request, CHUNK))
            return export(self.request, form, name, columns_of(self.serializer_class), chunks)
        return paginator.page(rows, self.request, lambda some: self.shown(some, context))

    def shown(self, rows: Any, context: dict[str, Any]) -> Any:
        """The rows as the API shows them."""
        serializer = self.serializer_class(context={**self.get_serializer_context(), **context})
        return [serializer.to_representation(row) for row in rows]


@csrf_exempt
def unknown_path(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """Everything under /v1 that is no endpoint. The path is the first thing checked: no key is asked for."""
    return error_response(NotFound(f"There is nothing at {request.path}."), request)

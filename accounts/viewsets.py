"""The base of every endpoint that asks for a key."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit import address_of
from accounts.authentication import Grant, note_use, uses_to_note
from accounts.idempotency import answer_once, requested_key
from accounts.models import ActorType
from kit.actors import Actor, acting_as
from kit.rest.views import ApiViewSet


class AccountViewSet(ApiViewSet):
    """Resources of the caller's account; its POSTs can be retried with an Idempotency-Key."""

    @property
    def grant(self) -> Grant:
        grant: Any = self.request.auth
        return grant

    @property
    def account_id(self) -> str:
        return self.grant.account_id

    @property
    def actor(self) -> Actor:
        """The request's key, as the audit log names it."""
        return Actor(ActorType.KEY, self.grant.key_id, self.grant.key_name, address_of(self.request._request))

    def check_address(self) -> None:
        """Also notes the use of the key, which counts from here on."""
        self.grant.check_address(self.request._request.client_address)  # type: ignore[attr-defined]
        now = timezone.now()
        if uses_to_note(self.grant, now):
            note_use(self.grant, now)

    async def read_body(self) -> None:
        self.idempotency_key = requested_key(self.request) if self.request.method == "POST" else None
        await super().read_body()

    def get_queryset(self) -> QuerySet[Any]:
        """What the account owns of `queryset`."""
        return super().get_queryset().filter(account_id=self.account_id)

    def write(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        def act() -> Response:
            return handler(request, *args, **kwargs)

        key = self.idempotency_key
        with acting_as(self.actor):
            if key is None:
                return super().write(handler, request, *args, **kwargs)
            return super().write(lambda *_, **__: answer_once(request, key, act, self.check_replay), request)

    def check_replay(self, reply: bytes) -> None:
        """Raises an ApiError for a kept reply that this request's key may not have, though the endpoint is open to it.

        For endpoints whose handler asks more of the key than `permissions_required`.
        """


class ReadingViewSet(AccountViewSet):
    """POSTs that only read, if much: they open no transaction and take no turn at writing.

    With an Idempotency-Key the reply is kept like any other, after it was made; a retry makes it again to no effect.
    """

    def write(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        response = handler(request, *args, **kwargs)
        return response if self.idempotency_key is None else super().write(lambda *_, **__: response, request)

"""The base of every endpoint that requires a key."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.auditing.audit import client_address_text
from accounts.auditing.models import ActorType
from accounts.keys.authentication import Grant, get_grant, unknown_key
from accounts.keys.callers import Use, is_use_due, write_use
from accounts.plans import epochs
from accounts.retries.idempotency import HEADER, check_key, run_once
from kit.actors import Actor, acting_as
from kit.http.errors import InsufficientPermissions
from kit.http.headers import get_client_address
from kit.rest.views import ApiViewSet, Handler, M
from kit.storage.sqlite_turns import turn_to_write


class AccountViewSet(ApiViewSet[M]):
    """Resources of the caller's account. POSTs can be retried with an Idempotency-Key."""

    grant: Grant  # set by authentication, as is the id of its account
    account_id: str

    def perform_authentication(self, request: Request) -> None:
        """Verify the key and its allowlist, and record its use."""
        super().perform_authentication(request)
        self.grant = get_grant(request)
        self.account_id = self.grant.account_id
        if self.grant.networks:
            self.grant.check_address(get_client_address(request._request))
        use = Use(self.grant)
        now = timezone.now()
        if is_use_due(use, now):
            write_use(use, now)

    def check_permissions(self, request: Request) -> None:
        """Require every permission that the view names for the action, and for some actions a secret key."""
        if self.action not in self.permissions_required:
            raise AssertionError(f"{type(self).__name__} names no permission for {self.action}")
        for permission in self.required_permissions():
            self.grant.require(permission)
        if self.action in self.for_secret_keys and self.grant.is_public:
            raise InsufficientPermissions("A public key cannot call this endpoint. Use a secret key.")

    def read_body(self) -> None:
        is_post = self.request.method == "POST"
        self.idempotency_key = check_key(self.request.headers.get(HEADER)) if is_post else None
        super().read_body()

    def hidden_fields(self) -> frozenset[str]:
        """Return the fields of `serializer_class` that its `for_secret_keys` keeps from a public key."""
        if self.grant.is_public:
            return getattr(self.serializer_class, "for_secret_keys", frozenset())
        return frozenset()

    def get_queryset(self) -> QuerySet[M]:
        """Return the rows of `queryset` that the account owns."""
        return super().get_queryset().filter(account_id=self.account_id)

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        key = self.idempotency_key
        grant = self.grant
        actor = Actor(ActorType.KEY, grant.key_id, grant.key_name, client_address_text(request._request))
        with acting_as(actor), turn_to_write(), transaction.atomic():
            if not epochs.prevent_deletion(self.account_id):  # deleted since authentication
                raise unknown_key()
            if key is None:
                return handler(request, *args, **kwargs)
            act = partial(handler, request, *args, **kwargs)
            return run_once(request, key, act, self.check_replay, resume=self.resume, has_rows=self.has_rows)

    def resume(self, reply: bytes) -> None:
        """Go on after the part of a request whose reply is stored (accounts.bulk)."""

    def check_replay(self, reply: bytes) -> None:
        """Raise an ApiError if this request's key may not see the stored reply.

        For endpoints whose handler requires more of the key than `permissions_required`.
        """


class ReadingViewSet(AccountViewSet[M]):
    """POSTs that only read: they open no transaction and need no write turn.

    With an Idempotency-Key the reply is stored afterwards; a retry computes it again and discards it.
    """

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        response = handler(request, *args, **kwargs)
        if self.idempotency_key is None:
            return response
        return super().write(lambda *_, **__: response, request)

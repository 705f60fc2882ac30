"""Endpoints /olp/token and /olp/introspect. They follow OAuth (RFC 6749, RFC 7662) instead of this API's rules.

Bodies are forms or JSON; errors are `{"error": …}`; unknown parameters are ignored.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any
from urllib.parse import unquote_plus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from accounts.keys.authentication import find_grant
from kit.http.error_replies import as_api_error
from kit.http.errors import ApiError, ServiceUnavailable
from kit.http.headers import get_client_address
from kit.http.parsing import parse_object
from kit.storage.sqlite_turns import turn_to_write
from licensing.clients.models import LicenseClient
from licensing.clients.services import authenticate, note_use
from licensing.license_server.resources import HostUnverified, Unpublished, find_resource
from licensing.license_server.tokens import Unlicensed, Unpaid, introspect_token, issue

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
RSL = "application/rsl+xml"
NOT_KEPT = {"Cache-Control": "no-store", "Pragma": "no-cache"}
HOST_UNVERIFIED = (
    "Another account of this server has this host, too. "
    "Ask the publisher to verify the host: POST /v1/sites/{id}/verify."
)
Parameters = dict[str, str]


class OAuthError(Exception):
    """An error reply as in RFC 6749, section 5.2."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(error)
        self.error = error
        self.description = description
        self.status = status


def endpoint(handler: Callable[[HttpRequest, Parameters], Any]) -> Callable[[HttpRequest], HttpResponse]:
    """Turn a handler into a POST view whose replies are not cached."""

    @csrf_exempt
    @wraps(handler)
    def view(request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return answer({"error": "invalid_request", "error_description": "Send a POST."}, 405, {"Allow": "POST"})
        try:
            return answer(handler(request, parse_parameters(request)))
        except OAuthError as refusal:
            body = {"error": refusal.error, "error_description": refusal.description}
            challenge = {"WWW-Authenticate": 'Basic realm="licence server"'} if refusal.status == 401 else {}
            return answer(body, refusal.status, challenge)
        except Exception as exc:
            error = as_api_error(exc)
            if error.status_code < 500:
                return answer({"error": "invalid_request", "error_description": error.message}, 400)
            status = error.status_code if isinstance(error, ServiceUnavailable) else 500
            return answer({"error": "server_error", "error_description": error.message}, status, error.headers)

    return view


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> JsonResponse:
    return JsonResponse(body, status=status, headers={**NOT_KEPT, **(headers or {})})


def parse_parameters(request: HttpRequest) -> Parameters:
    """Parse the parameters from the body. Raises OAuthError if one is repeated or not a string."""
    media = (request.content_type or FORM).lower()
    try:
        if media == JSON:
            parameters: dict[str, Any] = parse_object(request.body)
        elif media == FORM:
            form = QueryDict(request.body, encoding="utf-8")
            parameters = {name: values[0] if len(values) == 1 else None for name, values in form.lists()}
        else:
            raise OAuthError("invalid_request", f"Send {FORM} or {JSON}.")
    except ApiError as error:
        raise OAuthError("invalid_request", error.message) from None
    for name, value in parameters.items():
        if not isinstance(value, str) or "\0" in value:
            raise OAuthError("invalid_request", f"{name[:100]} must be one text.")
    return parameters


# --- Authentication --------------------------------------------------------------------------------------------------


def read_credentials(request: HttpRequest, parameters: Parameters) -> tuple[str, str]:
    """Return client_id and client_secret from HTTP Basic or the body (RFC 6749, 2.3.1). Raises OAuthError."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    if not scheme:
        return parameters.get("client_id", ""), parameters.get("client_secret", "")
    try:
        name, colon, secret = b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (Base64Error, ValueError):
        colon = ""
    if scheme.lower() != "basic" or not colon:
        raise OAuthError("invalid_client", "Send client_id and client_secret by Basic.", 401)
    return unquote_plus(name), unquote_plus(secret)


def authenticate_client(request: HttpRequest, parameters: Parameters, now: datetime) -> LicenseClient:
    """Authenticate the client. Raises OAuthError."""
    client = authenticate(*read_credentials(request, parameters), now)
    if client is None:
        raise OAuthError("invalid_client", "There is no such client, or it is revoked, or the secret is another.", 401)
    with turn_to_write():
        note_use(client, now)
    return client


# --- Endpoints -------------------------------------------------------------------------------------------------------


@endpoint
def token(request: HttpRequest, parameters: Parameters) -> dict[str, Any]:
    """Issue a licence token for a resource, if the client sends its published licence."""
    now = timezone.now()
    client = authenticate_client(request, parameters, now)
    grant_type = required_parameter(parameters, "grant_type")
    if grant_type != "client_credentials":
        raise OAuthError("unsupported_grant_type", "grant_type must be client_credentials.")
    url = required_parameter(parameters, "resource")
    terms = required_parameter(parameters, "license")
    if parameters.get("license_type", RSL) != RSL:
        raise OAuthError("invalid_license", f"license_type must be {RSL}.")
    try:
        resource = find_resource(client.account_id, url)
    except Unpublished as unpublished:
        raise OAuthError("invalid_resource", str(unpublished)) from None
    except HostUnverified:
        raise OAuthError("invalid_resource", HOST_UNVERIFIED) from None
    if not resource.has_license(terms):
        raise OAuthError("invalid_license", "This is not the licence that is published of the resource.")
    try:
        access_token, seconds = issue(client, resource, token_issuer(request), now)
    except Unlicensed:
        raise OAuthError("unauthorized_client", "The client holds no valid licence for the resource.", 401) from None
    except Unpaid:
        raise OAuthError("payment_required", "The credit for this is used up. Ask the publisher.", 402) from None
    return {"access_token": access_token, "token_type": "License", "expires_in": seconds}


@endpoint
def introspect(request: HttpRequest, parameters: Parameters) -> dict[str, Any]:
    """Introspect a token, for the client that it was issued to or an API key with `access:check`."""
    now = timezone.now()
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    client = None
    if scheme.lower() == "bearer":
        account_id = account_of_key(request, credentials.strip(), now)
    else:
        client = authenticate_client(request, parameters, now)
        account_id = client.account_id
    body: dict[str, Any] = introspect_token(
        required_parameter(parameters, "token"), account_id, client, parameters.get("resource"), now
    )
    return body


def account_of_key(request: HttpRequest, text: str, now: datetime) -> str:
    """Return the account of an API key with `access:check`. Raises OAuthError."""
    try:
        grant = find_grant(text)
        grant.check(now)
        grant.check_address(get_client_address(request))
        grant.require("access:check")
    except ApiError as error:
        raise OAuthError("invalid_client", error.message, 401) from None
    return grant.account_id


def required_parameter(parameters: Parameters, name: str) -> str:
    """Return a required parameter. Raises OAuthError if it is missing."""
    if not parameters.get(name):
        raise OAuthError("invalid_request", f"{name} is required.")
    return parameters[name]


def token_issuer(request: HttpRequest) -> str:
    """Return the issuer of tokens, the same as for signed decisions."""
    return settings.BASE_URL or f"{request.scheme}://{request.get_host()}"

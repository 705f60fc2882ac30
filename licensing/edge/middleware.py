"""Serves documents of sites under their own hosts, which need not be in ALLOWED_HOSTS, and answers their proxies."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseNotModified
from django.http.request import split_domain_port, validate_host
from django.utils.cache import patch_vary_headers

from kit.http.error_pages import error_answer
from kit.http.errors import ApiError
from kit.http.headers import TrustedProxies
from kit.rest.conditional import is_known
from kit.telemetry.repeated_log import RepeatedLog
from kit.values.hosts import PORT, host_of_header
from licensing.access.event_loop.in_thread import Exchange, answer, gateway_of_request
from licensing.edge.application import ForwardApplication
from licensing.edge.current_crawlers import agents_for_robots
from licensing.edge.original import is_question
from licensing.edge.publishing.documents import DOCUMENTS, site_at, tag_of, terms_of_site
from licensing.edge.publishing.publication import Publication
from licensing.sites.lookup import is_own_host

MAX_AGE = 300  # seconds
METHODS = ("GET", "HEAD")
KEY_HEADER = "X-Licensing-Key"
LICENSE_SERVER_PATH = "/olp"
# Headers of the service's own pages. They would bind browsers at the publisher's whole host, perhaps for a year.
DOMAIN_WIDE = ("Strict-Transport-Security", "Cross-Origin-Opener-Policy", "Referrer-Policy")
NO_TERMS = "This site publishes no terms here.\n"


log = logging.getLogger(__name__)
faults = RepeatedLog()


class SiteDocuments:
    """Middleware that answers requests for DOCUMENTS at a site's host and passes on all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.proxies = TrustedProxies()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in DOCUMENTS:
            try:
                response = self.document(request)
            except ApiError as error:
                faults.log(
                    log, logging.WARNING, error.message, f"A document of a site was not served: {error.message}"
                )
                response = error_answer(error, request)
                vars(response)["_has_been_logged"] = True  # read by django.utils.log
            if response is not None:
                return response if request.method in METHODS else HttpResponseNotAllowed(METHODS)
        return self.get_response(request)

    def document(self, request: HttpRequest) -> HttpResponse | None:
        """Return the document, or a plain 404 if it would be empty.

        Without a site, proxies get the same 404, and everybody else None.
        """
        requested_host = self.requested_host(request)
        host = host_of_header(requested_host)
        key = request.headers.get(KEY_HEADER)
        site = site_at(host, key) if host is not None else None
        if host is None or site is None:
            is_for_proxy = key is not None and host is not None and not is_own_host(host)
            return no_terms() if is_for_proxy else None
        netloc = netloc_with_port(host, requested_host)
        publication = Publication(
            netloc,
            terms_of_site(site),
            site.account.name,
            license_server(request, netloc),
            agents_for_robots(),
        )
        write, media_type = DOCUMENTS[request.path]
        body = write(publication)
        if body is None:
            return no_terms()
        response = unless_known(request, body, media_type)
        scope = "public" if key is None else "private"  # with a key, the document depends on the key's account
        response["Cache-Control"] = f"{scope}, max-age={MAX_AGE}"
        return response

    def requested_host(self, request: HttpRequest) -> str:
        host: str = request.META.get("HTTP_HOST", "")
        if self.proxies.is_trusted_peer(request.META.get("REMOTE_ADDR", "")):
            return request.META.get("HTTP_X_FORWARDED_HOST") or host
        return host


def no_terms() -> HttpResponse:
    return HttpResponse(NO_TERMS, status=404, content_type="text/plain; charset=utf-8")


def unless_known(request: HttpRequest, body: bytes, media_type: str) -> HttpResponse:
    """Return the body, or a 304 if the client has it already."""
    etag = tag_of(body)
    if_none_match = request.headers.get("If-None-Match")
    if if_none_match and is_known(if_none_match, etag):
        return HttpResponseNotModified(headers={"ETag": etag})
    return HttpResponse(body, content_type=media_type, headers={"ETag": etag})


def netloc_with_port(host: str, requested: str) -> str:
    """Return the host with the port that the request named."""
    port = PORT.search(requested.strip())
    return host + (port[0] if port is not None and port[0] not in (":", ":80", ":443") else "")


def license_server(request: HttpRequest, netloc: str) -> str | None:
    """Return the licence server's URL: under BASE_URL, or at the site's host and port if ALLOWED_HOSTS includes it."""
    if settings.BASE_URL:
        return f"{settings.BASE_URL}{LICENSE_SERVER_PATH}"
    if validate_host(split_domain_port(netloc)[0], settings.ALLOWED_HOSTS):
        return f"{request.scheme}://{netloc}{LICENSE_SERVER_PATH}"
    return None


class ProxyQuestions:
    """Middleware that answers proxies' questions, and passes on all other requests.

    Documents, and errors in their place, leave without DOMAIN_WIDE: proxies pass them on under the publisher's host.
    Proxies recognise them by their Vary.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_question(request.path):
            response = self.get_response(request)
            if request.path in DOCUMENTS:
                for name in DOMAIN_WIDE:
                    response.headers.pop(name, None)
                patch_vary_headers(response, ["Host", KEY_HEADER])
            return response
        return answer(ForwardApplication(gateway_of_request()), Exchange(request))

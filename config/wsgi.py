"""The WSGI application."""

import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from config import admin_settings
from kit.http.content_security import drop_quoted
from kit.http.parsing import MAX_BYTES


class Request(WSGIRequest):
    """A request whose text is always UTF-8, and whose cookies take linear time to parse.

    Django would also decode the query with the charset of Content-Type, which changes its meaning, and fail without a
    reply if the charset is unknown.
    """

    def __init__(self, environ: "WSGIEnvironment") -> None:
        super().__init__(environ)
        if "HTTP_COOKIE" in environ:
            environ["HTTP_COOKIE"] = drop_quoted(environ["HTTP_COOKIE"])

    def _set_content_type_params(self, meta: dict[str, str]) -> None:
        self.content_type = meta.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        self.content_params = {}


class Handler(WSGIHandler):
    request_class = Request


# Only pages need these. config.asgi answers the questions of proxies itself.
PAGE_MIDDLEWARE = {
    "licensing.edge.middleware.ProxyQuestions",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.documentation.serving.DocumentationMiddleware",
    "config.page_limit.PageLimitMiddleware",
    "licensing.edge.middleware.SiteDocuments",
    "config.monitoring.metrics_page.MetricsMiddleware",
    *admin_settings.MIDDLEWARE,
}


class ApiHandler(Handler):
    """Handles /v1 without the middleware for pages, which saves a tenth of a small request."""

    def load_middleware(self, is_async: bool = False) -> None:
        every = settings.MIDDLEWARE
        settings.MIDDLEWARE = [name for name in every if name not in PAGE_MIDDLEWARE]
        try:
            super().load_middleware(is_async)
        finally:
            settings.MIDDLEWARE = every


django.setup(set_prefix=False)

from licensing.edge.original import is_question  # noqa: E402 - needs the settings

pages = Handler()
api = ApiHandler()


def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    """Serve a request with Django.

    Django treats a chunked body as empty, so it is read here: at most one byte more than allowed.
    """
    if not environ.get("CONTENT_LENGTH") and "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = environ["wsgi.input"].read(MAX_BYTES + 1)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = io.BytesIO(body)
    path = environ["PATH_INFO"]
    is_page = not path.startswith("/v1/") or (path.startswith("/v1/access/") and is_question(path))
    if is_page:
        return pages(environ, start_response)
    return api(environ, start_response)

"""The WSGI application."""

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from kit.http.parsing import MAX_BYTES


class Request(WSGIRequest):
    """A request whose text is UTF-8, whatever charset its Content-Type names.

    Django would read the query in that charset too, which finds other things than were asked for, and fails before
    anything can answer where it knows no such charset.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type = meta.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        self.content_params = {}


class Handler(WSGIHandler):
    request_class = Request


django.setup(set_prefix=False)
django_application = Handler()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django takes a request without Content-Length as empty, so a chunked body is read before Django looks.

    No more is read than it takes to know that the body is too large.
    """
    if not environ.get("CONTENT_LENGTH") and "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = environ["wsgi.input"].read(MAX_BYTES + 1)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = io.BytesIO(body)
    return django_application(environ, start_response)

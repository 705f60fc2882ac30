"""Serve the documentation site under /docs/ as files, as WhiteNoise serves the static ones."""

from collections.abc import Callable
from wsgiref.headers import Headers

import orjson
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.base import WhiteNoise
from whitenoise.middleware import WhiteNoiseMiddleware

from kit.http.content_security import content_security_policy

PREFIX = "/docs/"
HAS_HASH = r"\.[0-9a-f]{8}\.min\.(?:js|css)$"  # in its name: such a file never changes


class DocumentationMiddleware:
    """Answers requests for files of the site. Others, and all where no site was built, go on to the URLs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        # Looked up for each request: a new build replaces the site while the service runs.
        self.site = WhiteNoise(
            None,
            autorefresh=True,
            allow_all_origins=False,
            index_file=True,
            immutable_file_test=HAS_HASH,
            add_headers_function=add_policy,
        )
        self.site.add_files(settings.DOCS_SITE, PREFIX)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(PREFIX) and (file := self.site.find_file(path)) is not None:
            response: HttpResponseBase = WhiteNoiseMiddleware.serve(file, request)
            return response
        return self.get_response(request)


def add_policy(headers: Headers, path: str, url: str) -> None:
    """Allow a page the inline scripts and styles that the site had when it was built."""
    if url.endswith("/"):
        inline = orjson.loads((settings.DOCS_SITE / "build.json").read_bytes())
        allowed = {f"{kind}-src": " ".join(["'self'", *inline[f"{kind}s"]]) for kind in ("script", "style")}
        headers["Content-Security-Policy"] = content_security_policy({**allowed, "worker-src": "'self'"})


def is_built() -> bool:
    return bool((settings.DOCS_SITE / "index.html").is_file())

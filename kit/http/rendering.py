"""Replies: JSON whatever `Accept` says, as the API has one format; Brotli or gzip over 1 kB if the view allows it.

A reply that contains a secret next to client-supplied text is never compressed, because its length would leak the
secret (BREACH). Nor is a reply with a strong entity tag, which identifies exact bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

import brotli
import orjson
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from rest_framework.renderers import BaseRenderer

JSON = "application/json"
render_json: Callable[[object], bytes] = orjson.dumps


class JSONRenderer(BaseRenderer):
    media_type = JSON
    format = "json"
    charset = None

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        if isinstance(renderer_context, dict):  # it refers to the view, which refers to it
            renderer_context.clear()
        return render_json(data)


LEAST_BYTES = 1024
QUALITY = 4  # as fast as gzip, with smaller output
IS_REFUSED = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*").fullmatch


class CompressionMiddleware(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_large = not isinstance(response, HttpResponse) or len(response.content) > LEAST_BYTES
        if not (is_large and getattr(response, "may_be_compressed", False)) or response.has_header("ETag"):
            return response
        if takes_brotli(request.headers.get("Accept-Encoding", "")) and not response.has_header("Content-Encoding"):
            return by_brotli(response)
        return super().process_response(request, response)


def takes_brotli(accepted: str) -> bool:
    codings = (part.partition(";") for part in accepted.split(","))
    return any(name.strip().lower() == "br" and not IS_REFUSED(weight) for name, _, weight in codings)


def by_brotli(response: HttpResponseBase) -> HttpResponseBase:
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = compress(cast("Iterable[bytes]", response.streaming_content))
        del response.headers["Content-Length"]
    elif isinstance(response, HttpResponse):
        response.content = brotli.compress(response.content, quality=QUALITY)
        response.headers["Content-Length"] = str(len(response.content))
    patch_vary_headers(response, ("Accept-Encoding",))
    response.headers["Content-Encoding"] = "br"
    return response


def compress(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Compress chunk by chunk, so that the client can decode each as it arrives."""
    packer = brotli.Compressor(quality=QUALITY)
    for chunk in chunks:
        yield packer.process(chunk) + packer.flush()
    yield packer.finish()

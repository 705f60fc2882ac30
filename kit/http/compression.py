"""gzip for replies over 1 kB, where a view allows it.

A reply with a secret beside text that a client sent is never compressed: its length would leak the secret (BREACH).
Neither is one with a strong entity tag, which names the bytes as they are.
"""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

LEAST_BYTES = 1024


class CompressionMiddleware(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_large = not isinstance(response, HttpResponse) or len(response.content) > LEAST_BYTES
        if is_large and getattr(response, "may_be_compressed", False) and not response.has_header("ETag"):
            return super().process_response(request, response)
        return response

"""gzip for replies over 1 kB, where a view says that they may be compressed.

What holds a secret beside what a client sent must not be: the length of the reply would tell of the secret (BREACH).
Neither are replies with a strong entity tag, which stands for the bytes as they are.
"""

from typing import Any

from django.middleware.gzip import GZipMiddleware

LEAST_BYTES = 1024


class CompressionMiddleware(GZipMiddleware):
    def process_response(self, request: Any, response: Any) -> Any:
        is_large = response.streaming or len(response.content) > LEAST_BYTES
        if is_large and getattr(response, "may_be_compressed", False) and not response.has_header("ETag"):
            return super().process_response(request, response)
        return response

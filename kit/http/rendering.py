"""JSON out, whatever the client says it accepts: an API of one format answers in it."""

from collections.abc import Callable
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer

render_json: Callable[[Any], bytes] = orjson.dumps


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return render_json(data)


class AlwaysJSON(BaseContentNegotiation):
    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type

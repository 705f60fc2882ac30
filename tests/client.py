"""An API client for tests."""

from typing import Any

import orjson
from django.test import Client
from django.test.client import ClientHandler

# One for all clients: loading the middleware takes longer than most requests.
HANDLER = ClientHandler(enforce_csrf_checks=False)


class Reply:
    """A response: its status, its headers, and its body as JSON."""

    def __init__(self, response: Any) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.content = response.getvalue()
        is_json = self.headers.get("Content-Type", "").partition(";")[0] == "application/json"
        is_json = is_json and "Content-Encoding" not in self.headers
        self.body = orjson.loads(self.content) if self.content and is_json else None

    @property
    def error(self) -> dict[str, Any]:
        return self.body["error"]

    @property
    def status_and_code(self) -> tuple[int, str]:
        return self.status, self.error["code"]

    @property
    def status_and_param(self) -> tuple[int, str]:
        return self.status, self.error["param"]

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    def __repr__(self) -> str:
        return f"<{self.status} {self.content[:500]!r}>"


class ApiClient:
    """Send JSON with a key. `json` may also be raw bytes, sent unchanged."""

    def __init__(self, key: str | None, **headers: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.client.handler = HANDLER
        self.headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **headers}

    def request(
        self, method: str, path: str, json: Any = None, *, headers: dict[str, str] | None = None, **query: Any
    ) -> Reply:
        """Send a request. `query` holds plain parameters; put `field[op]` ones into the path."""
        body = json if isinstance(json, bytes) else b"" if json is None else orjson.dumps(json)
        response = self.client.generic(
            method,
            path,
            body,
            content_type="application/json",
            headers={**self.headers, **(headers or {})},
            **({"query_params": query} if query else {}),
        )
        return Reply(response)

    def get(self, path: str, **options: Any) -> Reply:
        return self.request("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> Reply:
        return self.request("POST", path, json, **options)

    def patch(self, path: str, json: Any = None, **options: Any) -> Reply:
        return self.request("PATCH", path, json, **options)

    def delete(self, path: str, **options: Any) -> Reply:
        return self.request("DELETE", path, **options)

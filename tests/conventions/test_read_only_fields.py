import inspect
import re
from typing import Any

import pytest

from config.asgi import view_at
from kit.rest.read_only_fields import is_earlier, is_equal
from tests.conventions.endpoints import ENDPOINTS
from tests.conventions.schemas import parts_of, schema_of
from tests.endpoints.content_fields import without_times

PATCHES = [one for one in ENDPOINTS if one.method == "PATCH"]


def stable(shown: dict[str, Any]) -> dict[str, Any]:
    """Return the resource without what changes with every request."""
    return {name: one for name, one in without_times(shown).items() if name not in ("limits", "edgeLimits")}


def another(value: Any) -> Any:
    """Return a value of the same type that the field does not have."""
    if isinstance(value, dict):
        return {name: another(one) for name, one in value.items()} or {"unknown": 1}
    if isinstance(value, list):
        return [*value, "other"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "2999-01-01T00:00:00.000000Z" if value is None else f"{value}x"


@pytest.mark.parametrize("endpoint", PATCHES, ids=str)
def test_a_patch_ignores_read_only_fields_with_their_value_and_refuses_others(api, ids, endpoint):
    path, _ = endpoint.filled(ids)
    shown = api.get(path).body
    writable = {name for part in parts_of(schema_of(endpoint)) for name in part.get("properties", {})}
    owned = shown.keys() - writable
    assert {"id", "object"} <= owned
    for name in owned:
        reply = api.patch(path, {name: another(shown[name])})
        assert (name, reply.status) == (name, 422)
        assert reply.error["param"] == name
        assert api.patch(path, {name: shown[name]}).status == 200
    assert stable(api.get(path).body) == stable(shown)

    for _ in range(2):
        shown = api.get(path).body
        reply = api.patch(path, shown)
        assert reply.status == 200, reply
        assert stable(reply.body) == stable(shown)
    view = view_at(re.sub(r"\{\w+\}", "x", endpoint.path))
    assert "self.validated_change(" in inspect.getsource(view.cls.partial_update)


@pytest.mark.parametrize(("path", "body", "name"), [
    ("/v1/api-keys", {"name": "Edge", "type": "secret"}, "key"),
    ("/v1/webhooks", {"url": "https://hooks.example/in"}, "secret"),
])  # fmt: skip
def test_a_patch_takes_a_secret_only_from_who_has_read_it(api, path, body, name):
    created = api.post(path, body).body
    other = api.post(path, body).body[name]
    path = f"{path}/{created['id']}"
    for value in (other, f"{created[name]}x", "", 5, None, [created[name]]):
        reply = api.patch(path, {name: value})
        assert (value, reply.status) == (value, 422)
        assert reply.error["param"] == name
    assert api.patch(path, {name: created[name]}).status == 200


def test_statistics_may_be_earlier_than_the_stored_ones():
    now = {"allowed": 5, "lastSeenAt": "2026-02-14T16:45:00.000000Z", "used": 3}
    for earlier in (
        {**now, "allowed": 4},
        {**now, "lastSeenAt": None, "allowed": 0},
        {**now, "lastSeenAt": "2026-02-14T16:44:00.000000Z"},
        {**now, "used": 9},
    ):
        assert is_earlier(earlier, now)
    for other in (
        {**now, "allowed": 6}, {**now, "allowed": -1}, {**now, "allowed": "4"},
        {**now, "lastSeenAt": "2026-02-14T16:46:00.000000Z"}, {**now, "lastSeenAt": "yesterday"}, {"allowed": 4}, [],
    ):  # fmt: skip
        assert not is_earlier(other, now)


@pytest.mark.parametrize(
    ("given", "current", "is_same_value"),
    [
        ("5", 5.0, True), ("5.00", 5, True), ("five", 5, False), (True, 1, False), (5, "5", False),
        ("2026-02-14T17:45:00+01:00", "2026-02-14T16:45:00.000000Z", True),
        ("2026-02-14T16:45:01Z", "2026-02-14T16:45:00.000000Z", False), (None, 5, False), ([1, "2"], [1, 2], True),
        ([1], [1, 2], False),
    ],
)  # fmt: skip
def test_amounts_may_be_texts_and_times_may_have_another_offset(given, current, is_same_value):
    assert is_equal(given, current) is is_same_value

"""A refused check leaves no exception behind, whose frames would keep the body in memory."""

import gc
from typing import Any

import pytest

from kit.http.errors import ApiError
from licensing.access.event_loop.application import MAX_QUICK_BYTES
from tests.ways import GatewayClient

pytestmark = pytest.mark.django_db

CHECK = "/v1/access/check"
DRAFT = {"contentId": "cnt_unknown", "requester": "org_acme", "dryRun": True, "policy": {"rules": "none"}}


def live_errors() -> list[object]:
    return [found for found in gc.get_objects() if issubclass(type(found), ApiError)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"contentId": 7, "requester": "org_acme"}, 422),
        ({"contentId": "cnt_unknown", "requester": "org_acme"}, 404),
        (DRAFT, 422),
        ({**DRAFT, "explain": "x" * MAX_QUICK_BYTES}, 422),
        ({"contentId": "cnt_unknown", "requester": "org_acme", "dryRun": True}, 404),
    ],
    ids=["field", "unknown item", "draft", "long body", "dry run"],
)
def test_a_refused_check_leaves_no_error(api: GatewayClient, body: Any, status: int) -> None:
    api.post(CHECK, body)  # caches are filled once
    gc.collect()
    earlier = live_errors()  # other tests' own
    gc.disable()
    try:
        assert api.post(CHECK, body).status == status
        assert [found for found in live_errors() if not any(found is other for other in earlier)] == []
    finally:
        gc.enable()

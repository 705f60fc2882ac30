"""clients/python against a running service."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from content_access_licensing import (
    ApiError,
    AsyncClient,
    Client,
    ConflictError,
    InvalidSignature,
    NotFoundError,
    ValidationError,
    verify,
)
from standardwebhooks import Webhook

from tests.served import Service

Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(service.key, service.url, http=httpx.Client(trust_env=False)) as made:
        yield made


def refused(status: int, **headers: str) -> httpx.Response:
    error = {"code": "rate_limit_exceeded", "message": "Wait.", "type": "rate_limit_error"}
    return httpx.Response(status, json={"error": error}, headers=headers)


def scripted(replies: list[httpx.Response | Exception], seen: list[httpx.Request]) -> Client:
    """A client whose service answers as told."""

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return Client("svc_sk_x", "http://service.test", http=httpx.Client(transport=httpx.MockTransport(answer)))


def test_the_story_with_money_exact(client: Client):
    item = client.create_content({"title": "Markets", "externalId": "my-first"})
    policy = client.create_policy(
        {
            "name": "Licensed only",
            "rules": [
                {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["x"]},
                {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence."},
            ],
        }
    )
    client.update_content(item["id"], {"policyId": policy["id"]})
    denied = client.check_access({"externalId": "my-first", "requester": "org_acme"})
    assert (denied["allowed"], denied["reason"]) == (False, "no_license")
    price = {"amount": Decimal("0.050001"), "currency": "USD"}
    issued = client.create_license({"requesterId": "org_globex", "licenseType": "pro", "pricePerAccess": price})
    allowed = client.check_access({"externalId": "my-first", "requester": {"id": "org_globex"}})
    assert (allowed["allowed"], allowed["charge"]) == (True, price)
    assert issued["pricePerAccess"] == price
    report = client.get_revenue_report({"period": "7d"})
    assert report["summary"]["total"] == Decimal("0.05")
    assert client.update_policy(policy["id"], {"rules": policy["rules"]})["rules"] == policy["rules"]


def test_a_list_is_walked_over_all_its_pages(client: Client):
    types: list[Any] = ["article", "report", "image"]
    for number in range(6):
        client.create_content({"title": f"Item {number}", "type": types[number % 3]})
    found = [one["title"] for one in client.list_content({"type[in]": ["article", "report"], "limit": 1})]
    assert found == ["Item 4", "Item 3", "Item 1", "Item 0"]


def test_a_list_comes_as_a_file(client: Client):
    client.create_content({"title": "Item"})
    for _ in range(2):
        client.check_access({"contentId": next(client.list_content())["id"], "requester": "org_acme"})
    lines = b"".join(client.export("/v1/access/decisions")).splitlines()
    assert len(lines) == 3


def test_errors_are_typed_and_name_the_request(client: Client):
    with pytest.raises(NotFoundError) as missing:
        client.get_policy("pol_unknown")
    assert (missing.value.code, bool(missing.value.request_id)) == ("resource_not_found", True)
    with pytest.raises(ValidationError) as wrong:
        client.create_content({"title": " "})
    assert wrong.value.param == "title"
    item = client.create_content({"title": "Item"})
    with pytest.raises(ConflictError) as changed:
        client.update_content(item["id"], {"title": "Other"}, if_match='"elsewhere"')
    assert changed.value.code == "precondition_failed"


def test_the_asynchronous_client_does_the_same(service: Service):
    async def story() -> list[str]:
        async with AsyncClient(service.key, service.url, http=httpx.AsyncClient(trust_env=False)) as client:
            for number in range(3):
                await client.create_content({"title": f"Item {number}"})
            return [one["title"] async for one in client.list_content({"limit": 2})]

    assert asyncio.run(story()) == ["Item 2", "Item 1", "Item 0"]


def test_a_post_is_retried_with_one_idempotency_key_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    monkeypatch.setattr("content_access_licensing.client.time.sleep", waits.append)
    seen: list[httpx.Request] = []
    client = scripted(
        [refused(503, **{"Retry-After": "2"}), httpx.ReadError("gone"), httpx.Response(201, json={"id": "cnt_1"})],
        seen,
    )
    assert client.create_content({"title": "Item"})["id"] == "cnt_1"
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert waits[0] == 2


def test_a_check_is_repeated_only_where_it_was_surely_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("content_access_licensing.client.time.sleep", lambda _: None)
    check: Any = {"contentId": "cnt_1", "requester": "org_acme"}
    with pytest.raises(httpx.ReadError):
        scripted([httpx.ReadError("gone")], []).check_access(check)
    client = scripted([refused(429, **{"Retry-After": "1"}), httpx.Response(200, json={"allowed": True})], [])
    assert client.check_access(check)["allowed"] is True
    with pytest.raises(ApiError):
        scripted([refused(429, **{"Retry-After": "3600"})], []).check_access(check)


def test_a_webhook_is_believed_with_its_signature_alone():
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = '{"type": "ping", "data": {"price": {"amount": 0.1}, "metadata": {"amount": 1.5}}}'
    now = datetime.now(UTC)
    headers = {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": str(int(now.timestamp())),
        "Webhook-Signature": Webhook(secret).sign("evt_1", now, body),
    }
    data = verify(body.encode(), headers, secret)["data"]
    assert data == {"price": {"amount": Decimal("0.1")}, "metadata": {"amount": 1.5}}
    with pytest.raises(InvalidSignature):
        verify(body.replace("ping", "pong").encode(), headers, secret)
    with pytest.raises(InvalidSignature):
        verify(body.encode(), {**headers, "Webhook-Timestamp": "1"}, secret)

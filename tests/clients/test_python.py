"""A Python client whose service is a list of replies."""

import asyncio
import copy
import json
import os
import pickle
import traceback
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
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
    ServiceError,
    ValidationError,
    get_response,
    verify,
)
from content_access_licensing.paywall import Paywall
from standardwebhooks import Webhook

from tests.served import Service


def scripted(replies: list[httpx.Response | Exception], seen: list[httpx.Request]) -> Client:
    """Return a client that gets `replies` in turn, and adds each request to `seen`."""

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return Client("svc_sk_x", "http://service.test", http=httpx.Client(transport=httpx.MockTransport(answer)))


def refused(status: int, **headers: str) -> httpx.Response:
    error = {"code": "rate_limit_exceeded", "message": "Wait.", "type": "rate_limit_error"}
    return httpx.Response(status, json={"error": error}, headers=headers)


def test_the_story_with_money_exact(client: Client):
    item = client.create_content({"title": "Markets", "externalId": "my-first"})
    allow: Any = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["x"]}
    deny: Any = {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence."}
    policy = client.create_policy({"name": "Licensed only", "rules": [allow, deny]})
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


def test_a_change_is_refused_if_the_item_changed_since_it_was_read(client: Client):
    item = client.create_content({"title": "Item"})
    etag = get_response(item).etag
    theirs = client.update_content(item["id"], {"title": "Theirs"}, if_match=etag)
    with pytest.raises(ConflictError) as conflict:
        client.update_content(item["id"], {"title": "Mine"}, if_match=etag)
    assert (conflict.value.status, conflict.value.code) == (412, "precondition_failed")
    read = client.get_content(item["id"])
    assert (read["title"], get_response(read).etag) == ("Theirs", get_response(theirs).etag)
    assert client.update_content(item["id"], {"title": "Mine"}, if_match=get_response(read).etag)["title"] == "Mine"


def results_of(client: Client) -> Iterator[tuple[str, Any]]:
    """Return one result of each kind."""
    item = client.create_content({"title": "Item"})
    yield "created", item
    yield "read", client.get_content(item["id"])
    yield "check", client.check_access({"contentId": item["id"], "requester": "org_acme"})
    yield "batch", client.check_access_batch({"checks": [{"contentId": item["id"], "requester": "org_acme"}]})
    yield "report", client.get_revenue_report({"period": "7d"})
    items = client.list_content()
    yield "member", next(items)
    yield "list", items
    nothing = client.list_content({"title": "nothing"})
    assert list(nothing) == []
    yield "empty list", nothing
    export = client.export("/v1/access/decisions")
    assert next(export)
    yield "export", export
    with pytest.raises(NotFoundError) as error:
        client.get_content("cnt_unknown")
    yield "error", error.value
    with pytest.raises(NotFoundError) as error:
        next(client.export("/v1/unknown"))
    yield "refused export", error.value
    yield "deleted", client.delete_content(item["id"])


def test_every_result_says_its_request_id_and_rate_limit(client: Client):
    found = {kind: get_response(result) for kind, result in results_of(client)}
    assert len({response.request_id for response in found.values()}) == len(found) - 1  # a member has its list's
    for kind, response in found.items():
        limit = response.rate_limit
        assert limit is not None, kind
        assert 0 < limit.remaining < limit.limit, kind
        assert limit.reset > datetime.now(UTC), kind
        assert (response.deprecated_since, response.sunset) == (None, None)
    with pytest.raises(LookupError):
        _ = found["member"].etag


def test_objects_without_a_reply_are_refused(client: Client):
    for nothing in (dict(client.get_own_account()), client.list_content()):
        with pytest.raises(LookupError):
            get_response(nothing)


def test_decimals_are_numbers_in_attributes_and_metadata_and_exact_text_elsewhere():
    seen: list[httpx.Request] = []
    client = scripted([httpx.Response(200, json={"id": "dec_1"}), httpx.Response(201, json={"id": "lic_1"})], seen)
    attributes = {"seats": Decimal("10.0"), "share": [Decimal("0.25")], "trial": False}
    client.check_access({"contentId": "cnt_1", "requester": {"id": "org_acme", "attributes": attributes}})
    price: Any = {"amount": Decimal("0.050001"), "currency": "USD"}
    client.create_license({"requesterId": "a", "licenseType": "b", "price": price, "metadata": {"n": Decimal(3)}})
    checked, issued = (json.loads(one.content) for one in seen)
    assert checked["requester"]["attributes"] == {"seats": 10, "share": [0.25], "trial": False}
    assert (issued["price"]["amount"], issued["metadata"]) == ("0.050001", {"n": 3})


def test_values_of_a_list_keep_their_commas():
    seen: list[httpx.Request] = []
    client = scripted([httpx.Response(200, json={"data": [], "hasMore": False})], seen)
    list(client.list_content({"externalId[in]": ["a,b", "c\\", "d"], "source[in]": [], "fields": ["title", "status"]}))
    assert seen[0].url.params.get_list("externalId[in]") == ["a\\,b", "c\\", "d"]
    assert seen[0].url.params.get_list("source[in]") == [""]
    assert seen[0].url.params.get_list("fields") == ["title,status"]


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


def test_an_export_is_retried_until_it_starts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("content_access_licensing.client.time.sleep", lambda _: None)
    seen: list[httpx.Request] = []
    busy: list[httpx.Response | Exception] = [refused(503, **{"Retry-After": "1"}), httpx.ReadError("gone")]
    client = scripted([*busy, httpx.Response(200, content=b"a\r\n")], seen)
    assert (b"".join(client.export("/v1/content")), len(seen)) == (b"a\r\n", 3)
    replies = [refused(429, **{"Retry-After": "0"}), httpx.Response(200, content=b"a\r\n")]
    transport = httpx.MockTransport(lambda _: replies.pop(0))

    async def read() -> bytes:
        client = AsyncClient("svc_sk_x", "http://service.test", http=httpx.AsyncClient(transport=transport))
        return b"".join([chunk async for chunk in client.export("/v1/content")])

    assert asyncio.run(read()) == b"a\r\n"


class EchoesPort(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open

    def do_GET(self) -> None:
        body = json.dumps({"port": self.client_address[1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_forked_process_shares_no_connection():
    """Replies would reach the wrong process: one visitor's decision for another's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EchoesPort) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = Client("svc_sk_x", f"http://127.0.0.1:{server.server_port}")
        own: Any = client.get_own_account()
        child = os.fork()
        if child == 0:
            theirs: Any = client.get_own_account()
            os._exit(theirs["port"] == own["port"])
        _, status = os.waitpid(child, 0)
        assert (os.waitstatus_to_exitcode(status), client.get_own_account()) == (0, own)
        client.http.close()
        server.shutdown()


def test_a_webhook_is_believed_with_its_signature_alone():
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    test = {"requester": {"licenses": [{"licenseType": "commercial"}, {"licenseType": "5"}]}}  # no amounts
    data = {"price": {"amount": 0.1}, "metadata": {"amount": 1.5}, "tests": [test]}
    body = json.dumps({"type": "ping", "data": data})
    now = datetime.now(UTC)
    headers = {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": str(int(now.timestamp())),
        "Webhook-Signature": Webhook(secret).sign("evt_1", now, body),
    }
    shown = verify(body.encode(), headers, secret)["data"]
    assert shown == {**data, "price": {"amount": Decimal("0.1")}}
    with pytest.raises(InvalidSignature):
        verify(body.replace("ping", "pong").encode(), headers, secret)
    with pytest.raises(InvalidSignature):
        verify(body.encode(), {**headers, "Webhook-Timestamp": "1"}, secret)
    for length in (400, 5_000):  # a time beyond all clocks
        with pytest.raises(InvalidSignature):
            verify(b"{}", {"Webhook-Timestamp": "9" * length}, secret)


@pytest.mark.parametrize(
    "key", ["svc_sk_hush\n", "svc_sk_hush\r\nX-A: 1", " svc_sk_hush", "svc_sk_hüsh", "svc_sk_hu\0sh", ""]
)
@pytest.mark.parametrize("make", [Client, AsyncClient, Paywall])
def test_a_key_that_no_header_can_carry_is_never_shown(key: str, make: Any):
    with pytest.raises(ValueError, match="line break") as refused:
        make(key, True) if make is Paywall else make(key, "http://service.test")
    shown = "".join(traceback.format_exception(refused.value)) + repr(refused.value)
    assert "svc_sk_" not in shown


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_a_client_and_its_errors_do_not_show_the_key(make: Any):
    client = make("svc_sk_hush", "http://service.test")
    error = scripted([refused(422)], []).http.get  # an unanswered request would show its headers
    with pytest.raises(ApiError) as caught:
        scripted([refused(422)], []).list_policies().__next__()
    for one in (client, client.http, client.http.headers, caught.value, error):
        assert "svc_sk_" not in repr(one) + str(client)


def test_calls_at_the_same_time_have_a_response_each(service: Service):
    async def story() -> list[str | None]:
        async with AsyncClient(service.key, service.url, http=httpx.AsyncClient(trust_env=False)) as client:
            for number in range(3):
                await client.create_content({"title": f"Item {number}"})
            items = client.list_content({"limit": 1})
            pages = [get_response(one).request_id async for one in items]
            assert get_response(items).request_id == pages[-1]
            read = await asyncio.gather(*(client.get_own_account() for _ in range(3)))
            return [*pages, *(get_response(one).request_id for one in read)]

    assert len({*asyncio.run(story())} - {None}) == 6


def test_the_asynchronous_client_exports_a_file_with_its_response(service: Service):
    async def story() -> None:
        async with AsyncClient(service.key, service.url, http=httpx.AsyncClient(trust_env=False)) as client:
            item = await client.create_content({"title": "Item"})
            for _ in range(2):
                await client.check_access({"contentId": item["id"], "requester": "org_acme"})
            export = client.export("/v1/access/decisions")
            assert len(b"".join([chunk async for chunk in export]).splitlines()) == 3
            assert get_response(export).request_id
            with pytest.raises(NotFoundError) as error:
                await anext(client.export("/v1/unknown"))
            assert get_response(error.value).status == 404

    asyncio.run(story())


def test_an_export_that_is_closed_early_closes_its_connection():
    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        is_closed = False

        def __iter__(self) -> Iterator[bytes]:
            yield from (b"a", b"b")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

        def close(self) -> None:
            self.is_closed = True

        async def aclose(self) -> None:
            self.is_closed = True

    async def story(body: Body) -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
        async with AsyncClient(
            "svc_sk_x", "http://service.test", http=httpx.AsyncClient(transport=transport)
        ) as client:
            export = client.export("/v1/revenue")
            assert await anext(export) == b"a"
            await export.aclose()
            assert body.is_closed

    asyncio.run(story(Body()))
    body = Body()
    export = scripted([httpx.Response(200, stream=body)], []).export("/v1/revenue")
    assert next(export) == b"a"
    export.close()
    assert body.is_closed


def test_a_reply_says_what_is_deprecated():
    dates = {"Deprecation": "@1767225600", "Sunset": "Wed, 01 Jul 2026 00:00:00 GMT"}
    response = get_response(scripted([httpx.Response(200, json={}, headers=dates)], []).get_own_account())
    assert response.deprecated_since == datetime(2026, 1, 1, tzinfo=UTC)
    assert response.sunset == datetime(2026, 7, 1, tzinfo=UTC)
    assert response.headers["deprecation"] == "@1767225600"


def test_headers_that_a_proxy_broke_are_as_if_absent():
    broken = {"Deprecation": "soon", "Sunset": "soon", "X-RateLimit-Limit": "many", "X-RateLimit-Remaining": "1"}
    response = get_response(scripted([httpx.Response(200, json={}, headers=broken)], []).get_own_account())
    assert (response.deprecated_since, response.sunset, response.rate_limit) == (None, None, None)


def test_a_result_survives_copies_and_pickles():
    made = scripted([httpx.Response(200, json={"id": "acc_1"}, headers={"ETag": '"a"'})], []).get_own_account()
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):  # noqa: S301 - our own
        assert (copied, get_response(copied).etag) == ({"id": "acc_1"}, '"a"')


def test_a_reply_that_is_no_object_is_an_error_of_the_service():
    with pytest.raises(ServiceError) as error:
        scripted([httpx.Response(200, json=["a proxy's"])], []).get_own_account()
    assert (error.value.code, get_response(error.value).status) == ("unreadable_reply", 200)


LARGE = "123456789012.345678"  # more digits than a float has


def test_money_is_exact_wherever_a_reply_has_it():
    def reply(body: str) -> httpx.Response:
        return httpx.Response(200, content=body)

    shortfall = f'{{"rateLimit": {{"remaining": 3}}, "credits": {{"remaining": {LARGE}, "available": {LARGE}}}}}'
    event = f'{{"data": {{"amount": {LARGE}, "remaining": {LARGE}}}, "previous": {{"remaining": 0.000001}}}}'
    policy = f'{{"rules": [{{"pricePerAccess": {{"amount": "{LARGE}"}}}}, {{"pricePerAccess": {{"amount": 0.015}}}}]}}'
    events = f'{{"object": "list", "hasMore": false, "data": [{event}]}}'
    client = scripted([reply(shortfall), reply(event), reply(events), reply(policy)], [])
    exact = Decimal(LARGE)
    decision = client.check_access({"contentId": "cnt_1", "requester": "org"})
    assert (decision["credits"]["remaining"], decision["credits"]["available"]) == (exact, exact)
    assert type(decision["rateLimit"]["remaining"]) is int
    data = {"amount": exact, "remaining": exact}
    for shown in (client.get_event("evt_1"), next(client.list_events())):
        assert (shown["data"], shown["previous"]) == (data, {"remaining": Decimal("0.000001")})
    prices = [rule["pricePerAccess"]["amount"] for rule in client.get_policy("pol_1")["rules"]]
    assert prices == [exact, Decimal("0.015")]

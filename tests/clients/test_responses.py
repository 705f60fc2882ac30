import asyncio
import copy
import pickle
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from content_access_licensing import AsyncClient, NotFoundError, ServiceError, get_response

from tests.clients.scripted import scripted
from tests.served import Service


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
    assert (response.deprecated_since, response.sunset) == (
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 7, 1, tzinfo=UTC),
    )
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

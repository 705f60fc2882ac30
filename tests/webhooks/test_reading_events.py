"""Reading GET /v1/events from where the last read ended, by the program of docs/guides/webhooks.md."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from django.db import transaction

from tests import factories
from tests.documentation.blocks import block
from tests.lock_waits import in_thread, on_postgresql

PAYMENT = {"requesterId": "org_acme", "amount": 1, "currency": "EUR"}
ROWS = [{"externalId": f"cms-{number}", "title": "Item"} for number in range(5)]


class Reader:
    """The one method of the client that the program calls, in pages of two events."""

    def __init__(self, api):
        self.api = api

    def list_events(self, query):
        cursor = {}
        while True:
            page = self.api.get(f"/v1/events?{urlencode({**query, 'limit': 2, **cursor})}")
            yield from page["data"]
            if not page["hasMore"]:
                return
            cursor = {"cursor": page["nextCursor"]}


@pytest.fixture
def read(api):
    """Return a function that reads the new events and returns their ids."""
    program: dict = {}
    exec(block("docs/guides/webhooks.md", "from datetime"), program)  # noqa: S102 - the guide's own code
    state: dict = {}
    return lambda: [event["id"] for event in program["read_events"](Reader(api), state)]


def ids_of_all(api):
    return [event["id"] for event in api.get("/v1/events?sort=created&limit=100")["data"]]


@pytest.mark.django_db
def test_each_read_returns_the_new_events_oldest_first(api, read):
    reads = [read()]
    for rows in (ROWS[:3], ROWS[3:]):
        api.post("/v1/content/bulk", {"items": rows})
        reads.append(read())
    assert [len(one) for one in reads] == [1, 3, 2]
    assert [id_ for one in reads for id_ in one] == ids_of_all(api)
    assert read() == []


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_events_that_appear_after_later_ones_are_read(api, account, read):
    factories.requester(account, requester_id="org_acme")
    read()
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():  # a bulk request that is not committed yet
            assert api.post("/v1/content/bulk", {"items": ROWS}).status == 200
            assert other.submit(in_thread, api.post, "/v1/payments", PAYMENT).result().status == 201
            early = other.submit(in_thread, read).result()
        late = read()
    *of_rows, of_payment = ids_of_all(api)[-6:]
    assert (early, late) == ([of_payment], of_rows)
    assert read() == []

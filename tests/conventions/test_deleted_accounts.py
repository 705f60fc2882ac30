import re

import pytest
from asgiref.sync import sync_to_async

from accounts.models import Account
from accounts.viewsets import AccountViewSet, ReadingViewSet
from config.asgi import view_at
from licensing.access.event_loop.application import Request as CheckRequest
from licensing.account_deletion import delete_account, models_in_deletion_order
from tests.conventions.endpoints import WITH_KEY, WRITES, each

KEY = {"Idempotency-Key": "retry-1"}


def only_reads(endpoint):
    return issubclass(view_at(re.sub(r"\{\w+\}", "x", endpoint.path)).cls, ReadingViewSet)


POSSIBLE_WRITES = [endpoint for endpoint in WITH_KEY if endpoint.method in WRITES]
WRITING = [endpoint for endpoint in POSSIBLE_WRITES if not only_reads(endpoint)]
each_reading_post = each([endpoint for endpoint in POSSIBLE_WRITES if only_reads(endpoint)])


@pytest.fixture
def deleted_meanwhile(account, monkeypatch):
    """Delete the account after a request's body was read."""
    Account.objects.filter(pk=account.pk).update(is_demo=True)  # or its ledger would keep it

    def delete() -> None:
        for found in Account.objects.filter(pk=account.pk):  # a check reads its body once more
            delete_account(found)

    read_in_view, read_in_check = AccountViewSet.read_body, CheckRequest.read_body

    def read_then_delete(self):
        read_in_view(self)
        delete()

    async def read_check_then_delete(self):
        await read_in_check(self)
        await sync_to_async(delete)()

    monkeypatch.setattr(AccountViewSet, "read_body", read_then_delete)
    monkeypatch.setattr(CheckRequest, "read_body", read_check_then_delete)
    return account


@pytest.mark.parametrize(
    ("endpoint", "headers"),
    [
        *(pytest.param(endpoint, {}, id=f"{endpoint} once") for endpoint in WRITING),
        *(pytest.param(one, KEY, id=f"{one} with an Idempotency-Key") for one in WRITING if one.method == "POST"),
    ],
)
def test_a_write_for_a_deleted_account_is_refused_as_its_key_is(api, ids, deleted_meanwhile, endpoint, headers):
    reply = endpoint.send(api, ids, headers=headers)
    assert reply.status_and_code == (401, "invalid_api_key")
    for model, way in models_in_deletion_order():
        assert not model._base_manager.filter(**{way: deleted_meanwhile.pk}).exists(), model


@each_reading_post
@pytest.mark.parametrize("headers", [{}, KEY], ids=["once", "with an Idempotency-Key"])
def test_a_post_that_only_reads_finds_nothing_of_a_deleted_account(api, ids, deleted_meanwhile, endpoint, headers):
    assert endpoint.send(api, ids, headers=headers).status in (200, 401, 404)

import re

import pytest

from accounts.models import Account
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, each_with_id, make_resources

# Endpoints that read one resource; statements and the audit log only grow.
READS = [
    endpoint
    for endpoint in ENDPOINTS
    if endpoint.method == "GET" and re.fullmatch(r"/v1/[\w/-]+/{\w+}", endpoint.path)
]


def outermost(endpoint):
    """Return the placeholder of the resource that is looked up first."""
    return re.search(r"{(\w+)}", endpoint.path)[1]


@pytest.fixture(scope="module")
def before(other, for_the_module):
    """The other account's resources before any test."""
    with for_the_module():
        api = ApiClient(factories.key_text(Account.objects.get(pk=other.account_id)))
        return [read.send(api, other.ids).body for read in READS]


@each_with_id()
def test_another_accounts_resource_stays_and_is_as_if_it_had_never_been(before, api, other_api, theirs, endpoint):
    endpoint.send(api, theirs)
    assert [read.send(other_api, theirs).body for read in READS] == before

    unknown = {kind: f"{id_.rpartition('_')[0]}_{'0' * 26}" for kind, id_ in theirs.items()}
    kind = outermost(endpoint)
    never_was, other = endpoint.send(api, unknown), endpoint.send(api, theirs)
    assert (never_was.error["code"], never_was.error["type"]) == ("resource_not_found", "not_found_error")
    assert (never_was.status, other.status) == (404, 404)
    assert other.content.decode().replace(theirs[kind], unknown[kind]) == never_was.content.decode()
    assert set(other.headers) == set(never_was.headers)


NO_IDS = [
    "x", "cnt_", "pol_" + "0" * 25, "key_" + "0" * 27, "dec_" + "u" * 26, "cnt_8" + "0" * 25, "CNT_" + "0" * 26, "..",
    "%00", "%FF", "é", "a" * 3000,
]  # fmt: skip


@each_with_id()
def test_malformed_ids_and_ids_of_another_kind_are_not_found(api, endpoint, ids):
    for text in NO_IDS:
        reply = endpoint.send(api, dict.fromkeys(ids, text))
        assert (text, reply.status, reply.error["code"]) == (text, 404, "resource_not_found")
    kind = outermost(endpoint)
    swapped = ids["content" if kind != "content" else "policy"]
    assert endpoint.send(api, {**ids, kind: swapped}).status == 404


def test_lists_hold_nothing_of_another_account(api, ids, other_account):
    lists = [endpoint for endpoint in ENDPOINTS if endpoint.is_list]
    before = [endpoint.send(api, ids).body for endpoint in lists]
    theirs = make_resources(other_account)
    for endpoint, own in zip(lists, before, strict=True):
        after = endpoint.send(api, ids)
        assert after.body == own, endpoint
        assert not any(id_.encode() in after.content for id_ in theirs.values()), endpoint

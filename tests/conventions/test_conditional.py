"""ETags and conditional requests (docs/reference/api.md, Conditional requests)."""

import re
from datetime import timedelta

import pytest

from accounts.models import AuditEntry
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, WITH_KEY, each

# Resources with an id that can be read and written.
ADDRESSES = {
    endpoint.path for endpoint in WITH_KEY if endpoint.method in ("PATCH", "DELETE") and endpoint.names_a_resource
}
OF_ONE = [endpoint for endpoint in WITH_KEY if endpoint.method == "GET" and endpoint.path in ADDRESSES]
CHANGES = [endpoint for endpoint in WITH_KEY if endpoint.method in ("PATCH", "DELETE") and endpoint.names_a_resource]
PATCHES = [endpoint for endpoint in CHANGES if endpoint.method == "PATCH"]
CREATIONS = [endpoint for endpoint in WITH_KEY if endpoint.status == 201]
IS_STRONG = re.compile(r'"[0-9a-f]{24}(-[0-9a-f]{24})?"').fullmatch
STALE = '"5d41402abc4b2a76b9719d91"'

each_of_one, each_change, each_patch, each_creation = each(OF_ONE), each(CHANGES), each(PATCHES), each(CREATIONS)


@pytest.fixture
def tag(api, ids):
    """Return the current ETag of the endpoint's resource."""
    return lambda endpoint: api.get(endpoint.path.format(**ids)).headers["ETag"]


def test_all_that_can_be_written_is_here():
    assert {endpoint.path for endpoint in OF_ONE} == ADDRESSES
    assert {"content", "policy", "license", "key"} <= set(re.findall(r"{(\w+)}", " ".join(ADDRESSES)))


@each_of_one
def test_a_resource_has_a_strong_tag_that_stays(api, ids, endpoint, tag):
    assert IS_STRONG(tag(endpoint))
    assert tag(endpoint) == tag(endpoint)
    assert api.request("HEAD", endpoint.path.format(**ids)).headers["ETag"] == tag(endpoint)


@each_creation
def test_a_new_resource_comes_with_its_address_and_its_tag(api, ids, endpoint):
    made = endpoint.send(api, ids)
    read = api.get(made.headers["Location"])
    assert (read.status, read["id"]) == (200, made["id"])
    assert read.headers["ETag"] == made.headers["ETag"]


@each_creation
def test_a_replay_has_the_same_address_and_tag(api, ids, endpoint):
    first, again = (endpoint.send(api, ids, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert "Idempotent-Replayed" in again.headers
    assert [again.headers[name] for name in ("ETag", "Location")] == [
        first.headers[name] for name in ("ETag", "Location")
    ]


@each_patch
def test_a_change_answers_with_the_new_tag(api, ids, endpoint, tag):
    before = tag(endpoint)
    changed = endpoint.send(api, ids)
    assert before != changed.headers["ETag"] == tag(endpoint)


@each_change
@pytest.mark.parametrize("seen", ["{tag}", '"other", {tag}', '{tag},"other"', "*", "W/{tag}", '"{opaque}-gzip"'])
def test_what_the_client_has_seen_is_changed(api, ids, endpoint, tag, seen):
    current = tag(endpoint)
    headers = {"If-Match": seen.format(tag=current, opaque=current.strip('"'))}
    assert endpoint.send(api, ids, headers=headers).status == 200


@each_change
@pytest.mark.parametrize("seen", [STALE, f"W/{STALE}", f'{STALE}, ""'])
def test_what_has_another_state_is_left_as_it_is(api, ids, endpoint, tag, seen):
    before, entries = tag(endpoint), AuditEntry.objects.count()
    reply = endpoint.send(api, ids, headers={"If-Match": seen.format(tag=before)})
    assert reply.status == 412
    assert (reply.error["code"], reply.error["type"]) == ("precondition_failed", "conflict_error")
    state = before.strip('"').partition("-")[0]
    assert f'If-Match has to be "{state}" now' in reply.error["message"]
    assert (tag(endpoint), AuditEntry.objects.count()) == (before, entries)


@each_change
@pytest.mark.parametrize("seen", ["", "5d41402abc4b2a76b9719d91", '"a" "b"', '"a', "1", '"a",', "*, *"])
def test_what_is_no_tag_is_a_400_that_names_the_header(api, ids, endpoint, seen):
    reply = endpoint.send(api, ids, headers={"If-Match": seen})
    assert (reply.status, reply.error["param"]) == (400, "If-Match")


@each_change
@pytest.mark.parametrize("seen", ["*", STALE])
def test_what_another_account_has_is_not_there(other_api, ids, endpoint, seen):
    assert endpoint.send(other_api, ids, headers={"If-Match": seen}).status == 404


@each_of_one
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("known", ["{tag}", "W/{tag}", '"other", {tag}', "*"])
def test_what_the_client_has_already_is_not_sent_again(api, ids, endpoint, tag, method, known):
    now = tag(endpoint)
    reply = api.request(method, endpoint.path.format(**ids), headers={"If-None-Match": known.format(tag=now)})
    assert (reply.status, reply.content, reply.headers["ETag"]) == (304, b"", now)
    assert reply.headers["X-RateLimit-Limit"]


@each_of_one
def test_what_the_client_has_not_is_sent(api, ids, endpoint):
    reply = api.get(endpoint.path.format(**ids), headers={"If-None-Match": STALE})
    assert (reply.status, reply["id"][:3]) == (200, endpoint.filled(ids)[0].rpartition("/")[2][:3])


@each_of_one
def test_a_304_takes_the_permission_too(account, ids, endpoint, tag):
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    headers = {"If-None-Match": tag(endpoint)}
    assert powerless.get(endpoint.path.format(**ids), headers=headers).status == 403


@each_patch
def test_a_change_that_changes_nothing_writes_nothing(api, ids, endpoint, clock):
    path = endpoint.path.format(**ids)
    endpoint.send(api, ids)
    before, entries = api.get(path), AuditEntry.objects.count()
    clock.set("2030-01-01T00:00:00Z")
    shown = {name: value for name, value in before.body.items() if name != "status"}
    for body in (endpoint.filled(ids)[1], {}, shown):
        reply = api.patch(path, body)
        assert (reply.status, reply.headers["ETag"]) == (200, before.headers["ETag"])
    assert (api.get(path).body, AuditEntry.objects.count()) == (before.body, entries)


def test_the_document_tells_of_conditions(api):
    paths = api.get("/v1/openapi.json")["paths"]
    named = {re.sub(r"{\w+}", "{}", path): path for path in paths}
    for endpoint in ENDPOINTS:
        if endpoint.path == "/v1/openapi.json":
            continue
        operation = paths[named[re.sub(r"{\w+}", "{}", endpoint.path)]][endpoint.method.lower()]
        headers = {one["name"] for one in operation.get("parameters", []) if one["in"] == "header"}
        if endpoint in CHANGES:
            assert "If-Match" in headers
            assert "412" in operation["responses"]
        if endpoint in OF_ONE:
            assert "If-None-Match" in headers
            assert "304" in operation["responses"]
        if endpoint in OF_ONE + PATCHES + CREATIONS:
            successes = [reply for status, reply in operation["responses"].items() if status in ("200", "201")]
            assert successes
            assert all("ETag" in success["headers"] for success in successes)
        if endpoint in CREATIONS:
            assert "Location" in operation["responses"]["201"]["headers"]


# --- What no write of a resource touches ---------------------------------------------------------------------------


def test_a_check_makes_the_figures_new_and_holds_up_no_change(api, ids):
    path = f"/v1/content/{ids['content']}"
    before = api.get(path).headers["ETag"]
    api.post("/v1/access/check", {"contentId": ids["content"], "requester": "org"})
    assert api.get(path, headers={"If-None-Match": before})["stats"]["totalRequests"] == 2
    assert api.patch(path, {"title": "New"}, headers={"If-Match": before}).status == 200


def test_an_embedded_policy_has_a_tag_of_its_own_and_holds_up_no_change(api, account, ids):
    path = f"/v1/content/{ids['content']}"
    api.patch(path, {"policyId": ids["policy"]})
    plain, expanded = api.get(path).headers["ETag"], api.get(f"{path}?expand=policy").headers["ETag"]
    assert plain != expanded
    api.patch(f"/v1/policies/{ids['policy']}", {"name": "Other"})
    assert api.get(f"{path}?expand=policy", headers={"If-None-Match": expanded}).status == 200
    assert api.patch(path, {"title": "New"}, headers={"If-Match": expanded}).status == 200


def test_use_of_a_key_holds_up_no_revocation(account, api):
    key, text = factories.api_key(account)
    before = api.get(f"/v1/api-keys/{key.pk}").headers["ETag"]
    ApiClient(text).get("/v1/content")
    assert api.delete(f"/v1/api-keys/{key.pk}", headers={"If-Match": before}).status == 200


def test_the_end_of_a_licence_makes_a_new_tag_and_holds_up_no_change(api, clock):
    term = {"requesterId": "org", "licenseType": "trial", "expiresAt": (clock.now + timedelta(hours=1)).isoformat()}
    made = api.post("/v1/licenses", term)
    path, before = f"/v1/licenses/{made['id']}", made.headers["ETag"]
    clock.advance(hours=2)
    assert api.get(path, headers={"If-None-Match": before})["status"] == "expired"
    assert api.patch(path, {"licenseType": "paid"}, headers={"If-Match": before}).status == 200


def test_a_rollback_and_a_revocation_take_if_match_too(api, ids):
    for path in (f"/v1/policies/{ids['policy']}/rollback", f"/v1/licenses/{ids['license']}/revoke"):
        body = {"version": 1} if path.endswith("rollback") else {}
        assert api.post(path, body, headers={"If-Match": STALE}).status == 412
        current = api.get(path.rpartition("/")[0]).headers["ETag"]
        assert api.post(path, body, headers={"If-Match": current}).status == 200


def test_the_text_of_a_key_is_no_part_of_its_tag(api):
    made = api.post("/v1/api-keys", {"name": "x", "type": "public"})
    assert api.get(f"/v1/api-keys/{made['id']}").headers["ETag"] == made.headers["ETag"]


COMPRESSED = [
    "W/{0}",
    '"{1}-gzip"',
    '"{1}--gzip"',
    '"{1}-br"',
    '"{1};br"',
    '"{1};gzip"',
    'W/"{1}-zstd"',
    '"{1}:deflate"',
]


@pytest.mark.parametrize("changed", COMPRESSED)
def test_a_tag_that_a_compressing_proxy_has_changed_counts_as_that_tag(api, account, changed):
    item = factories.content(account)
    path = f"/v1/content/{item.pk}"
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})  # its tag has a second part
    tag = api.get(path).headers["ETag"]
    sent = changed.format(tag, tag.strip('"'))
    assert api.get(path, headers={"If-None-Match": sent}).status == 304
    assert api.patch(path, {"title": "New"}, headers={"If-Match": sent}).status == 200
    assert api.get(path, headers={"If-None-Match": sent}).status == 200
    assert api.patch(path, {"title": "Newer"}, headers={"If-Match": sent}).status == 412


@pytest.mark.parametrize("other", ['"{0}0"', '"{0}gzip"', '"0{0}"', '"{1}"', '"-{0}"', '"x-{0}"', '""', 'W/""'])
def test_a_tag_that_only_contains_the_state_does_not_count(api, account, other):
    path = f"/v1/content/{factories.content(account).pk}"
    state = api.get(path).headers["ETag"].strip('"').partition("-")[0]
    sent = other.format(state, state[:-1])
    assert api.patch(path, {"title": "New"}, headers={"If-Match": sent}).status == 412

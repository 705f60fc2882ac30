import re
from datetime import timedelta

import pytest
from django.db import transaction

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


def test_the_sample_covers_all_that_can_be_written():
    assert {endpoint.path for endpoint in OF_ONE} == ADDRESSES
    assert {"content", "policy", "license", "key"} <= set(re.findall(r"{(\w+)}", " ".join(ADDRESSES)))


@each_of_one
def test_conditional_reads_send_only_what_the_client_does_not_have(api, account, ids, endpoint, tag):
    path, current = endpoint.path.format(**ids), tag(endpoint)
    assert IS_STRONG(current), current
    assert api.request("HEAD", path).headers["ETag"] == current

    for method in ("GET", "HEAD"):
        for known in ("{tag}", "W/{tag}", '"other", {tag}', "*"):
            reply = api.request(method, path, headers={"If-None-Match": known.format(tag=current)})
            assert (reply.status, reply.content, reply.headers["ETag"]) == (304, b"", current), (method, known)
            assert reply.headers["X-RateLimit-Limit"], (method, known)

    reply = api.get(path, headers={"If-None-Match": STALE})
    assert (reply.status, reply["id"][:3]) == (200, path.rpartition("/")[2][:3])
    assert reply.headers["ETag"] == current

    powerless = ApiClient(factories.key_text(account, permissions=[]))
    assert powerless.get(path, headers={"If-None-Match": current}).status == 403


@each_creation
def test_creations_and_their_replays_name_address_and_tag(api, ids, endpoint):
    first, again = (endpoint.send(api, ids, headers={"Idempotency-Key": "k"}) for _ in range(2))
    read = api.get(first.headers["Location"])
    assert (read.status, read["id"]) == (200, first["id"])
    assert read.headers["ETag"] == first.headers["ETag"]
    assert "Idempotent-Replayed" in again.headers
    for name in ("ETag", "Location"):
        assert again.headers[name] == first.headers[name]


@each_patch
def test_a_change_has_a_new_tag_and_no_change_writes_nothing(api, ids, endpoint, tag, clock):
    before = tag(endpoint)
    changed = endpoint.send(api, ids)
    assert before != changed.headers["ETag"] == tag(endpoint)
    path = endpoint.path.format(**ids)
    endpoint.send(api, ids)
    before, entries = api.get(path), AuditEntry.objects.count()
    clock.set("2030-01-01T00:00:00Z")
    shown = {name: value for name, value in before.body.items() if name != "status"}
    for body in (endpoint.filled(ids)[1], {}, shown):
        reply = api.patch(path, body)
        assert (reply.status, reply.headers["ETag"]) == (200, before.headers["ETag"])
    assert (api.get(path).body, AuditEntry.objects.count()) == (before.body, entries)


@each_change
def test_only_changes_with_the_current_tag_succeed(api, ids, endpoint, tag, other_api):
    current = tag(endpoint)
    for seen in ("{tag}", '"other", {tag}', '{tag},"other"', "*", "W/{tag}", '"{opaque}-gzip"'):
        with transaction.atomic():
            headers = {"If-Match": seen.format(tag=current, opaque=current.strip('"'))}
            assert endpoint.send(api, ids, headers=headers).status == 200, seen
            transaction.set_rollback(True)

    before, entries = tag(endpoint), AuditEntry.objects.count()

    for stale in (STALE, f"W/{STALE}", f'{STALE}, ""'):
        reply = endpoint.send(api, ids, headers={"If-Match": stale})
        assert reply.status == 412, stale
        assert (reply.error["code"], reply.error["type"]) == ("precondition_failed", "conflict_error"), stale
        assert f"If-Match has to be {before} now" in reply.error["message"], stale

    for malformed in ("", "5d41402abc4b2a76b9719d91", '"a" "b"', '"a', "1", '"a",', "*, *"):
        reply = endpoint.send(api, ids, headers={"If-Match": malformed})
        assert reply.status_and_param == (400, "If-Match"), malformed

    for seen in ("*", STALE):
        assert endpoint.send(other_api, ids, headers={"If-Match": seen}).status == 404, seen

    assert (tag(endpoint), AuditEntry.objects.count()) == (before, entries)


def test_the_openapi_document_describes_conditional_requests(api):
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


def test_figures_and_embedded_policies_hold_up_no_change(api, ids, account):
    path = f"/v1/content/{ids['content']}"
    before = api.get(path).headers["ETag"]
    api.post("/v1/access/check", {"contentId": ids["content"], "requester": "org"})
    assert api.get(path, headers={"If-None-Match": before})["stats"]["totalRequests"] == 2
    assert api.patch(path, {"title": "New"}, headers={"If-Match": before}).status == 200

    api.patch(path, {"policyId": ids["policy"]})
    plain, expanded = api.get(path).headers["ETag"], api.get(f"{path}?expand=policy").headers["ETag"]
    assert plain != expanded
    api.patch(f"/v1/policies/{ids['policy']}", {"name": "Other"})
    assert api.get(f"{path}?expand=policy", headers={"If-None-Match": expanded}).status == 200
    assert api.patch(path, {"title": "New"}, headers={"If-Match": expanded}).status == 200


def test_the_tag_of_a_key_depends_neither_on_its_text_nor_on_its_use(account, api):
    key, text = factories.api_key(account)
    before = api.get(f"/v1/api-keys/{key.pk}").headers["ETag"]
    ApiClient(text).get("/v1/content")
    assert api.delete(f"/v1/api-keys/{key.pk}", headers={"If-Match": before}).status == 200
    made = api.post("/v1/api-keys", {"name": "x", "type": "public"})
    assert api.get(f"/v1/api-keys/{made['id']}").headers["ETag"] == made.headers["ETag"]


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


COMPRESSED = [
    "W/{0}", '"{1}-gzip"', '"{1}--gzip"', '"{1}-br"', '"{1};br"', '"{1};gzip"', 'W/"{1}-zstd"', '"{1}:deflate"',
]  # fmt: skip


def test_a_tag_counts_if_only_a_compressing_proxy_changed_it(api, account):
    for changed in COMPRESSED:
        item = factories.content(account)
        path = f"/v1/content/{item.pk}"
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})  # its tag has a second part
        tag = api.get(path).headers["ETag"]
        sent = changed.format(tag, tag.strip('"'))
        assert api.get(path, headers={"If-None-Match": sent}).status == 304
        assert api.patch(path, {"title": "New"}, headers={"If-Match": sent}).status == 200
        assert api.get(path, headers={"If-None-Match": sent}).status == 200
        assert api.patch(path, {"title": "Newer"}, headers={"If-Match": sent}).status == 412

    for other in (
        '"{0}0"', '"{0}gzip"', '"0{0}"', '"{1}"', '"-{0}"', '"x-{0}"', '""', 'W/""',
    ):  # fmt: skip
        path = f"/v1/content/{factories.content(account).pk}"
        state = api.get(path).headers["ETag"].strip('"').partition("-")[0]
        sent = other.format(state, state[:-1])
        assert api.patch(path, {"title": "New"}, headers={"If-Match": sent}).status == 412

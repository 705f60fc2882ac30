import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from licensing.access.lookup.pages import CompiledPolicies
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.policy_tests import MAX_TESTS_BYTES
from tests import factories
from tests.documentation.blocks import block
from tests.factories import ALLOW_LICENSED, DENY_ALL

LICENSED = {"id": "org_acme", "licenseType": "commercial", "hasValidLicense": True}
READS = {"name": "Customers read", "requester": LICENSED, "expect": {"allowed": True}}
PAYS = {
    "name": "Others pay",
    "requester": {"id": "anyone"},
    "expect": {"allowed": False, "reason": "no_license", "matchedRule": 1},
}
TESTS = [READS, PAYS]


def make(api, *tests, rules=(ALLOW_LICENSED, DENY_ALL), **fields):
    return api.post("/v1/policies", {"name": "Tested", "rules": list(rules), "tests": list(tests), **fields})


@pytest.fixture
def policy(api):
    made = make(api, *TESTS)
    assert made.status == 201, made.body
    return made.body


def assert_refused(reply, param, *words):
    """Assert that a reply refuses the tests of a policy, with these words."""
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    for text in words:
        assert text in reply.error["message"]


def test_tests_come_back_as_they_were_sent(api, policy, account):
    assert policy["tests"] == TESTS
    assert api.get(f"/v1/policies/{policy['id']}")["tests"] == TESTS
    assert api.post("/v1/policies", {"name": "Plain"})["tests"] == []
    stored = factories.policy(account)
    assert api.patch(f"/v1/policies/{stored.pk}", {"name": "Renamed"})["tests"] == []


def test_a_policy_that_fails_its_tests_is_not_saved(api, account):
    reply = make(api, READS, PAYS, rules=[DENY_ALL])
    assert_refused(
        reply, "tests[0]", "“Customers read”", "expected to be allowed", "denied (policy_denied) by rules[0]"
    )
    assert not Policy.objects.of(account.pk).exists()
    reply = make(api, READS, PAYS, READS, rules=[DENY_ALL])
    assert [error["param"] for error in reply.error["errors"]] == ["tests[0]", "tests[1]", "tests[2]"]
    assert_refused(make(api, {"requester": {"id": "x"}, "expect": {"allowed": True}}), "tests[0]", "Test 0")


def test_a_change_of_rules_that_breaks_a_test_is_not_written_without_a_change_of_the_test(api, policy):
    changed = {**ALLOW_LICENSED, "conditions": {"licenseType": "enterprise", "hasValidLicense": True}}
    reply = api.patch(f"/v1/policies/{policy['id']}", {"rules": [changed, DENY_ALL]})
    assert_refused(reply, "tests[0]", "“Customers read”")
    assert api.get(f"/v1/policies/{policy['id']}").body == policy
    assert PolicyRevision.objects.filter(policy=policy["id"]).count() == 1
    body = {"rules": [DENY_ALL], "tests": [{**READS, "expect": {"allowed": False}}]}
    reply = api.patch(f"/v1/policies/{policy['id']}", body)
    assert (reply.status, reply["version"], reply["tests"]) == (200, 2, body["tests"])


def test_tests_are_changed_with_rules_or_alone_and_audited(api, policy):
    reply = api.patch(f"/v1/policies/{policy['id']}", {"tests": [READS]})
    assert (reply["version"], reply["tests"]) == (2, [READS])
    second, first = api.get(f"/v1/policies/{policy['id']}/versions")["data"]
    assert (second["tests"], first["tests"]) == ([READS], TESTS)
    api.patch(f"/v1/policies/{policy['id']}", {"rules": [], "tests": []})
    assert api.post(f"/v1/policies/{policy['id']}/rollback", {"version": 1})["tests"] == TESTS


def test_a_rollback_to_a_version_that_fails_its_tests_is_refused(api, account, policy):
    ended = {"action": "allow", "conditions": {"before": "2020-01-01"}, "permissions": ["full_access"]}
    api.patch(f"/v1/policies/{policy['id']}", {"name": "Later"})
    PolicyRevision.objects.filter(policy=policy["id"], version=1).update(rules=[ended])  # as if time had passed
    reply = api.post(f"/v1/policies/{policy['id']}/rollback", {"version": 1})
    assert_refused(reply, "tests[0]", "“Customers read”")
    assert api.get(f"/v1/policies/{policy['id']}")["version"] == 2


def test_tests_are_those_of_the_guide_and_tried_in_no_time(api):
    policy, test = (
        orjson.loads(block("docs/reference/policies.md", first)) for first in ('{"defaultAction"', '{"name"')
    )
    assert api.post("/v1/policies", {"name": "Guide", **policy, "tests": [test]}).status == 201
    broken = {**test, "expect": {"allowed": True}}
    assert_refused(api.post("/v1/policies", {"name": "Guide", **policy, "tests": [broken]}), "tests[0]", test["name"])
    # Each test matches the last of a hundred rules.
    rules = [{"action": "deny", "conditions": {"requesterId": f"org_{number}"}} for number in range(99)]
    tests = [{**READS, "content": {"tags": ["t" * 100] * 4}}] * 100
    assert len(orjson.dumps(tests)) <= MAX_TESTS_BYTES
    assert make(api, *tests, rules=[*rules, {**ALLOW_LICENSED, "priority": 9}]).status == 201


def test_a_test_can_say_all_that_a_rule_looks_at(api, account):
    for rule, test in [
        ({"requesterId": "org_b"}, {"requester": {"id": "org_b"}}),
        ({"contentType": "report"}, {"content": {"type": "report"}}),
        ({"contentType": "article"}, {}),
        ({"tags": "open"}, {"content": {"tags": ["a", "open"]}}),
        ({"category": "news"}, {"content": {"category": "news"}}),
        ({"permission": "preview"}, {"permission": "preview"}),
        ({"ip": "203.0.113.0/24"}, {"context": {"ip": "203.0.113.9"}}),
        ({"ip": "203.0.113.0/24"}, {"context": {"ip": "::ffff:203.0.113.9"}}),
        ({"before": "2020-01-01"}, {"at": "2019-06-01"}),
        ({"after": "2999-01-01"}, {"at": "2999-01-01T00:00:00Z"}),
        ({"after": "2020-01-01"}, {"at": None}),
        ({"schedule": {"days": "mon", "timeZone": "UTC"}}, {"at": "2026-06-01"}),
        ({"attributes": {"seats": {"gte": 10}}}, {"requester": {"id": "x", "attributes": {"seats": 10}}}),
        ({"licenseType": "gold"}, {"requester": {"id": "x", "licenseType": "gold"}}),
        ({"hasValidLicense": True}, {"requester": {"id": "x", "licenses": [{"licenseType": "gold"}]}}),
        (
            {"licenseType": "gold", "hasValidLicense": True},
            {"requester": {"id": "x", "licenses": [{"licenseType": "silver"}, {"licenseType": "gold"}]}},
        ),
    ]:
        allow = {"action": "allow", "conditions": rule, "permissions": ["full_access"]}
        asked = {"requester": {"id": "x"}, "expect": {"allowed": True, "matchedRule": 0}, **test}
        reply = make(api, asked, rules=[allow])
        assert reply.status == 201, reply.body
    for at, expect in [
        ("2025-06-01", {"allowed": True}),
        ("2026-06-01", {"allowed": False, "reason": "license_expired"}),
        ("2024-06-01", {"allowed": True}),  # it has not started, so the caller's assertion counts
    ]:
        requester = {**LICENSED, "licenses": [ENDED]}
        assert make(api, {"requester": requester, "at": at, "expect": expect}).status == 201
    asked = {"requester": {"id": "x"}, "expect": {"allowed": False, "matchedRule": None}}
    assert make(api, asked, rules=[]).status == 201
    assert_refused(make(api, asked, rules=[DENY_ALL]), "tests[0]", "by the default action", "by rules[0]")
    assert make(api, *TESTS, mode="observe").status == 201
    assert make(api, *TESTS, mode="disabled").status == 201
    assert_refused(make(api, READS, rules=[DENY_ALL], mode="disabled"), "tests[0]")
    rule = {**ALLOW_LICENSED, "rateLimit": {"requests": 1, "period": "month"}}
    assert make(api, *[READS] * 3, rules=[rule]).status == 201


ENDED = {"licenseType": "commercial", "startsAt": "2025-01-01", "expiresAt": "2026-01-01"}


def test_invalid_tests_are_refused_by_name(api, policy):
    for test, param in [
        ("no object", "tests[0]"),
        ({"requester": {"id": "x"}}, "tests[0].expect"),
        ({"expect": {"allowed": True}}, "tests[0].requester"),
        ({"requester": {}, "expect": {"allowed": True}}, "tests[0].requester.id"),
        ({**READS, "expect": {}}, "tests[0].expect.allowed"),
        ({**READS, "expect": {"allowed": "true"}}, "tests[0].expect.allowed"),
        ({**READS, "expect": {"allowed": False, "reason": "because"}}, "tests[0].expect.reason"),
        ({**READS, "expect": {"allowed": True, "reason": "no_license"}}, "tests[0].expect.reason"),
        ({**READS, "expect": {"allowed": True, "matchedRule": "0"}}, "tests[0].expect.matchedRule"),
        ({**READS, "expect": {"allowed": True, "matchedRule": 100}}, "tests[0].expect.matchedRule"),
        ({**READS, "expected": {}}, "tests[0].expected"),
        ({**READS, "at": "soon"}, "tests[0].at"),
        ({**READS, "permission": "Read All"}, "tests[0].permission"),
        ({**READS, "content": {"type": "book"}}, "tests[0].content.type"),
        ({**READS, "content": {"tags": ["x"] * 51}}, "tests[0].content.tags"),
        ({**READS, "context": {"ip": "here"}}, "tests[0].context.ip"),
        ({**READS, "requester": {"id": "x", "licenses": [{}]}}, "tests[0].requester.licenses[0].licenseType"),
        ({**READS, "requester": {"id": "x", "attributes": {"a": [9]}}}, "tests[0].requester.attributes.a"),
    ]:
        assert_refused(make(api, test), param)
        assert_refused(api.patch(f"/v1/policies/{policy['id']}", {"tests": [test]}), param)
    for tests, said in [
        ({}, 'Must be an array such as [{"requester": {"id": "org_acme"}, "expect": '),
        ([READS] * 101, "at most 100 tests"),
        ([{**READS, "name": "n" * 250, "content": {"tags": ["t" * 100] * 10}}] * 60, "at most 65,536 bytes"),
    ]:
        assert_refused(api.post("/v1/policies", {"name": "x", "tests": tests}), "tests", said)


def test_a_check_does_not_load_tests_which_are_audited(policy, api, account):
    with CaptureQueriesContext(connection) as seen:
        CompiledPolicies().get([(policy["id"], 1)])
    [query] = seen.captured_queries
    assert '"tests"' not in query["sql"]
    assert '"rules"' in query["sql"]
    api.patch(f"/v1/policies/{policy['id']}", {"tests": [READS]})
    assert api.get("/v1/audit", resourceId=policy["id"])["data"][0]["changes"]["tests"] == [TESTS, [READS]]

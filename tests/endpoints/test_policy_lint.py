import pytest

from licensing.licenses.models import License
from licensing.requesters.models import Requester
from tests import factories
from tests.factories import ALLOW_ALL, ALLOW_LICENSED, DENY_ALL


@pytest.fixture
def lint(api):
    return lambda *rules, **fields: api.post("/v1/policies/lint", {"rules": list(rules), **fields})


def test_a_finding_has_a_path_a_code_and_a_message(lint, api):
    reply = lint(ALLOW_LICENSED, DENY_ALL)
    assert (reply.status, reply.body) == (200, {"object": "policy_lint", "findings": []})
    unreachable, never = lint(ALLOW_LICENSED, {**DENY_ALL, "priority": 0})["findings"]
    assert unreachable == {
        "level": "warning",
        "code": "unreachable_rule",
        "path": "rules[0]",
        "message": "Is never reached: rules[1] is tried before it, and matches whatever it matches: "
        "its priority is 0, this one's 1.",
    }
    assert (never["code"], never["path"]) == ("never_allows", "rules")
    assert never["message"] == "Nothing is ever allowed by this policy."
    for earlier, later, why in [
        ({"priority": 7}, {}, "it has a priority (7), this one has none."),
        ({"action": "deny"}, {}, "neither has a priority, and of equals deny comes before allow."),
        ({"priority": 7}, {"priority": 7}, "both have the priority 7, and it stands first in the list."),
    ]:
        rules = [{"action": "allow", "conditions": {"hasValidLicense": True}, **fields} for fields in (earlier, later)]
        assert {one["path"]: one["message"] for one in lint(*rules)["findings"]}["rules[1]"].endswith(why)
    assert lint(ALLOW_ALL)["findings"] != []
    assert api.post("/v1/policies", {"name": "Open", "rules": [ALLOW_ALL]}).status == 201


def test_lint_compares_schedules_with_the_current_time(lint, clock):
    rule = {"action": "deny", "conditions": {"before": "2026-03-04T05:06:08Z"}}
    assert lint(ALLOW_LICENSED, rule)["findings"] == []
    clock.advance(seconds=1)
    assert [one["code"] for one in lint(ALLOW_LICENSED, rule)["findings"]] == ["ended"]


def test_licence_types_are_compared_with_the_accounts_own_licences(lint, account, other_account, clock):
    def license_of(owner, license_type):
        requester = Requester.objects.create(account=owner, requester_id=license_type)
        moments = dict.fromkeys(("starts_at", "created", "updated"), clock.now)
        License.objects.create(account=owner, requester=requester, license_type=license_type, **moments)

    license_of(other_account, "enterprise")
    assert lint(ALLOW_LICENSED)["findings"] == []  # without stored licences, callers assert them
    license_of(account, "commercial")
    [found] = lint(ALLOW_LICENSED)["findings"]
    assert (found["code"], found["path"]) == ("unknown_license_type", "rules[0].conditions.licenseType[1]")


def test_invalid_policies_are_refused_instead_of_linted(api):
    for body, param in [
        ({"rules": [{"action": "deny"}]}, "rules[0].conditions"),
        ({"defaultAction": None}, "defaultAction"),
    ]:
        assert api.post("/v1/policies/lint", body).status_and_param == (422, param)


def test_findings_of_the_largest_policies_are_limited(lint, api, account):
    addresses = [f"10.{number // 200}.{number % 200}.0/24" for number in range(35)]
    rules = [
        {"action": "deny", "priority": number, "conditions": {"ip": addresses, "tags": f"t{number}"}}
        for number in range(99)
    ]
    assert lint(*rules, ALLOW_LICENSED).status == 200
    factories.license(account)
    names = [[f"{number}-{place}" for place in range(90)] for number in range(60)]
    rules = [{"action": "allow", "conditions": {"licenseType": some}} for some in names]
    reply = api.post("/v1/policies/lint", {"rules": rules})
    assert (len(reply["findings"]), reply["truncated"]) == (500, True)
    assert "truncated" not in lint(ALLOW_LICENSED).body

import orjson
import pytest

from licensing.policies.models import Policy
from operators.base.links import change_url
from operators.policies.descriptions import describe_test
from tests import factories
from tests.admin.forms import form_values, submit
from tests.admin.policy_forms import ADD, html_of, press, save

READS = {
    "name": "Customers read",
    "requester": {"id": "org_acme", "licenses": [{"licenseType": "commercial"}]},
    "content": {"type": "report", "tags": ["markets"]},
    "permission": "read",
    "expect": {"allowed": True},
}
PAYS = {"requester": {"id": "anyone"}, "expect": {"allowed": False, "reason": "no_license", "matchedRule": 1}}


@pytest.fixture
def policy(account):
    return factories.policy(account, name="Commercial use", tests=[READS, PAYS])


def stored():
    return Policy.objects.get()


def test_examples_are_described_in_words_to_viewers_too(admin, policy, staff, sign_in, account):
    html = html_of(admin.get(change_url(policy)))
    assert "org_acme, who holds a licence of type commercial, asks for read of a report tagged markets" in html
    assert "anyone, without a licence, asks for an article: denied (no_license) by rule 2." in html
    viewer = sign_in(staff("licensing.view_policy", accounts=[account]))
    assert "org_acme, who holds a licence" in html_of(viewer.get(change_url(policy)))
    for test, words in (
        ({"requester": {"id": "x", "licenseType": "press"}}, "x, who names a licence of type press, asks for"),
        ({"requester": {"id": "x", "hasValidLicense": True}}, "x, with a valid licence, asks for an article"),
        ({"context": {"ip": "203.0.113.9"}, "at": "2026-01-01"}, "an article from 203.0.113.9 at 2026-01-01: allowed"),
        ({"content": {"type": "image", "category": "news"}}, "an image in news: allowed"),
        ({"expect": {"allowed": True, "matchedRule": None}}, "allowed by the default action"),
    ):
        assert words in describe_test({"requester": {"id": "x"}, "expect": {"allowed": True}, **test})


def test_a_save_that_fails_an_example_is_refused_and_names_it(admin, policy):
    html = html_of(save(admin, policy, **{"rules-0-licenseType": "enterprise"}))
    assert "“Customers read”: expected to be allowed, but it is denied (policy_denied) by rule 2." in html
    assert "Comes out otherwise: denied (policy_denied) by rule 2." in html
    assert stored().version == 1

    html = press(admin, policy, "check", **{"rules-0-licenseType": "enterprise"})
    assert "Comes out otherwise" in html
    assert "Comes out so." in html
    assert stored().version == 1
    for sent in ("", "[]", "{", "1", '{"expect": {}}'):
        assert save(admin, policy, **{"tests-0": sent}).status_code == 200
        assert stored().version == 1


def test_an_expectation_can_be_changed_together_with_the_rules(admin, policy):
    save(admin, policy, **{"rules-0-licenseType": "enterprise", "tests-0-expect": "denied"})
    assert (stored().version, stored().tests[0]["expect"]) == (2, {"allowed": False})


def test_an_example_is_taken_out_without_scripts(admin, policy):
    values = form_values(press(admin, policy, "forget-0"))
    assert [orjson.loads(values["tests-0"][0]), "tests-1" in values] == [PAYS, False]
    assert stored().version == 1
    admin.post(change_url(policy), {**values, "_save": "Save"})
    assert stored().tests == [PAYS]


def test_examples_can_be_edited_as_json_and_back(admin, policy):
    for text, message in (
        ("[", "This is not JSON"),
        ("{}", "Must be an array such as"),
        ('[{"expect": {"allowed": true}}]', "[0].requester: This field is required."),
    ):
        values = form_values(press(admin, policy, "examples-json"))
        html = html_of(admin.post(change_url(policy), {**values, "tests-json": text, "_save": "1"}))
        assert message in html
        assert stored().version == 1

    values = form_values(press(admin, policy, "examples-json"))
    assert orjson.loads(values["tests-json"][0]) == [READS, PAYS]
    values["tests-json"] = [orjson.dumps([PAYS]).decode()]
    values = form_values(html_of(admin.post(change_url(policy), {**values, "_edit": "examples-list"})))
    assert orjson.loads(values["tests-0"][0]) == PAYS

    factories.content(policy.account, policy_id=policy.pk)
    values = form_values(press(admin, policy, "forget-1"))
    html = html_of(
        admin.post(change_url(policy), {**values, "rules-0-permissions": "full_access\nprint", "_save": "1"})
    )
    assert "<del>anyone, without a licence" in html
    save(admin, policy, name="Renamed")
    assert (stored().name, stored().tests) == ("Renamed", [READS, PAYS])


def test_a_new_policy_is_tried_on_its_examples_too(admin, account):
    fields = {"account": account.pk, "name": "New", "default_action": "deny", "tests-0": orjson.dumps(READS).decode()}
    assert "expected to be allowed" in html_of(submit(admin, ADD, _save="Save", **fields))
    assert not Policy.objects.exists()

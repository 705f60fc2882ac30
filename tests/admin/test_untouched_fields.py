import orjson
import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies import services as policy_services
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import submit


def changed(obj):
    """Return the audit log's fields of the latest change by form."""
    return set(AuditEntry.objects.filter(resource_id=obj.pk, actor_type="operator").latest("pk").changes)


@pytest.fixture
def item(api):
    body = api.post(
        "/v1/content",
        {
            "externalId": " a",
            "title": " Two\nlines ",
            "tags": ["law ", " news"],
            "metadata": {"author": " Ann", "category": "law ", "tags": [" x "], "note": " n "},
        },
    ).body
    return Content.objects.get(pk=body["id"])


def test_a_customers_texts_stay_as_the_api_has_them(admin, api):
    api.post("/v1/requesters", {"id": "org", "name": " Acme ", "notes": "Call\nin May. "})
    requester = Requester.objects.get()
    address = reverse("admin:licensing_requester_edit", args=[requester.pk])
    assert submit(admin, address, email="a@acme.example").status_code == 302
    assert AuditEntry.objects.latest("pk").changes == {"email": [None, "a@acme.example"]}
    assert submit(admin, address, notes="Call\nin June.").status_code == 302
    assert api.get("/v1/requesters/org")["notes"] == "Call\nin June."
    assert submit(admin, address, name="").status_code == 302
    assert api.get("/v1/requesters/org")["name"] is None


def test_the_other_lines_of_a_list_stay_until_it_is_emptied(admin, item):
    assert submit(admin, change_url(item), tags="law \nsport ").status_code == 302
    assert Content.objects.get(pk=item.pk).tags == ["law ", "sport"]
    assert changed(item) == {"tags"}
    assert submit(admin, change_url(item), author="", tags="", metadata_tags="").status_code == 302
    now = Content.objects.get(pk=item.pk)
    assert (now.author, now.tags, now.metadata_tags) == (None, [], None)


def test_lines_that_read_alike_stay_each_as_it_is(admin, account):
    for stored in (["law", "law ", "x"], ["law ", " law"], ["a\u2028b "], ["law "] * 2):
        item = factories.content(account, tags=stored)
        assert submit(admin, change_url(item), tags="\n".join([*stored, "added"])).status_code == 302, stored
        assert Content.objects.get(pk=item.pk).tags == [*stored, "added"], stored


@pytest.mark.parametrize(("stored", "entered"), [(True, "1"), (1, "true"), (1, '"1"')])
def test_a_value_of_another_type_is_a_change(admin, account, stored, entered):
    item = factories.content(account, metadata={"flag": stored})
    assert submit(admin, change_url(item), metadata_extra=f'{{"flag": {entered}}}').status_code == 302
    assert repr(Content.objects.get().metadata_extra["flag"]) == repr(orjson.loads(entered))


def test_an_items_strings_stay_as_the_api_has_them(admin, item, api):
    assert submit(admin, change_url(item)).status_code == 302
    assert Content.objects.get(pk=item.pk).updated == item.updated
    before = api.get(f"/v1/content/{item.pk}").body
    assert submit(admin, change_url(item), word_count="7").status_code == 302
    after = api.get(f"/v1/content/{item.pk}").body
    assert changed(item) == {"metadata.wordCount"}
    assert after["metadata"].pop("wordCount") == 7
    assert {**after, "updated": None} == {**before, "updated": None}


def test_a_licences_strings_stay(admin, account):
    held = factories.license(account, license_type=" commercial ", tags=["law ", "\u00a0x"], per_access="0.050")
    assert submit(admin, change_url(held), expires_at_0="2999-01-01", expires_at_1="00:00").status_code == 302
    now = License.objects.get()
    assert (now.license_type, now.tags) == (" commercial ", ["law ", "\u00a0x"])
    assert changed(held) == {"expiresAt"}


@pytest.fixture
def policy(account):
    return factories.policy(account, name=" Open\nto all", description=" One\nTwo \n")


def test_a_policys_texts_stay_and_a_confirmation_lists_only_the_change(admin, account, policy):
    factories.content(account, policy_id=policy.pk)
    html = submit(admin, change_url(policy), _save="Save", default_action="allow").content.decode()
    assert "Yes, save it" in html
    assert "Otherwise" in html
    assert "Description" not in html
    assert submit(admin, change_url(policy), _save="Save", confirmed="1", default_action="allow").status_code == 302
    now = Policy.objects.get()
    assert (now.name, now.description, now.default_action) == (" Open\nto all", " One\nTwo \n", "allow")
    submit(admin, change_url(policy), _save="Save", description="One\nThree")
    assert Policy.objects.get().description == "One\nThree"


def test_a_rule_keeps_a_message_of_two_lines_and_so_its_count(admin, account):
    rule = {**factories.ALLOW_ALL, "message": "One\nTwo ", "rateLimit": {"requests": 1, "period": "day"}}
    policy = policy_services.update_policy(factories.policy(account), {"rules": [rule]})
    submit(admin, change_url(policy), _save="Save", name="Other")
    assert (Policy.objects.get().name, Policy.objects.get().rules) == ("Other", [rule])


def test_untouched_parts_of_a_rule_stay_the_same(admin, account):
    rule = {**factories.ALLOW_LICENSED, "message": " One\nTwo "}
    policy = policy_services.update_policy(factories.policy(account), {"rules": [rule]})
    submit(admin, change_url(policy), _save="Save", confirmed="1", **{"rules-0-priority": "2"})
    assert Policy.objects.get().rules == [{**rule, "priority": 2}]

import re
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analytics.models import AccessEvent
from licensing.content import services as content_services
from licensing.policies import services as policy_services
from operators.base.links import change_url, list_url
from operators.catalogue.decision_filters import bounded_scan
from tests import factories


@pytest.fixture
def decide(account, api):
    """Return the id of a decision on an item that requires a commercial licence."""
    policy = factories.policy(account)
    item = factories.content(account, title="The item", policy_id=policy.pk)

    def make(requester="org_acme", **more):
        reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": requester, **more})
        return reply.body["id"]

    make.policy, make.item = policy, item
    return make


def found(client, **query):
    reply = client.get(list_url(AccessEvent, **query))
    assert reply.status_code == 200
    return [event.pk for event in reply.context["cl"].result_list]


def test_a_search_for_many_customers_says_that_it_takes_the_newest(admin, decide):
    made = [decide(f"org_{number}") for number in range(6)]
    assert found(admin, q="org_") == made[:0:-1]
    page = admin.get(list_url(AccessEvent, q="org_")).content.decode()
    assert page.count("Only the 5 newest of the customers that match are searched here.") == 1


def page(client, decision):
    reply = client.get(reverse("admin:analytics_accessevent_change", args=[decision]))
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_decisions_are_found_by_whole_ids_outcomes_and_valid_times(admin, decide):
    decide("org_acme")
    decide("org_other")
    html = admin.get(list_url(AccessEvent, q="org_acme", p="1")).content.decode().replace("&amp;", "&")
    assert 'href="?outcome=no_license&q=org_acme"' in html
    assert len(found(admin, q="org_acme", outcome="no_license")) == 1
    html = admin.get(list_url(AccessEvent, q="org_acme", outcome="no_license")).content.decode()
    assert 'aria-current="true">denied: no_license<' in html

    decision = decide()
    decide()
    assert found(admin, q=f" {decision} ") == [decision]
    shown = page(admin, decision)
    assert f"> {decision} no_license <" in shown
    assert decision.capitalize() not in shown
    for term in ("dec_", "dec_00000000000000000000000000", "lic_1", "org_nobody"):
        decide()
        assert found(admin, q=term) == []
    for nonsense in ({"created_from_0": "yesterday"}, {"created_to_1": "12:00"}):
        decide()
        assert admin.get(list_url(AccessEvent, **nonsense)).status_code == 302


def test_decisions_are_listed_newest_first_and_filtered(admin, decide, account):
    denied = decide()
    factories.license(account)
    allowed = decide()
    other = decide("org_zebra")
    requester = AccessEvent.objects.get(pk=other).requester
    assert found(admin) == [other, allowed, denied]
    assert found(admin, outcome="allowed") == [allowed]
    assert found(admin, outcome="denied") == [other, denied]
    assert found(admin, outcome="no_license") == [other, denied]
    assert found(admin, outcome="no_policy") == []
    assert found(admin, requester__id__exact=requester.pk) == [other]
    assert found(admin, content__id__exact=decide.item.pk) == [other, allowed, denied]


def test_decisions_of_one_account_item_or_customer_are_sorted_by_an_index(admin, decide, other_account):
    decide()
    requester = AccessEvent.objects.get().requester
    for filters in ({}, {"account__id__exact": decide.item.account_id}, {"content__id__exact": decide.item.pk},
                    {"requester__id__exact": requester.pk}):  # fmt: skip
        with CaptureQueriesContext(connection) as queries:
            found(admin, **filters)
        orders = [query["sql"].partition("ORDER BY ")[2].split(" ")[0] for query in queries]
        of_decisions = [order for order in orders if order.startswith('"analytics_accessevent".')]
        assert of_decisions == [f'"analytics_accessevent"."{"created" if filters else "id"}"'], filters


def test_decisions_are_filtered_by_time_among_the_newest(admin, decide, account):
    decision = decide()
    today = timezone.now().date().isoformat()
    assert found(admin, created_from_0=today, created_to_0=today) == [decision]
    assert found(admin, created_from_0=today, created_from_1="00:00:00") == [decision]
    assert found(admin, created_from_0="2020-01-01", created_to_0="2020-01-02") == []
    denied = [decide() for _ in range(3)]
    assert bounded_scan(AccessEvent.objects.all(), limit=2).count() == 2
    assert denied[0] not in bounded_scan(AccessEvent.objects.all(), limit=2).values_list("pk", flat=True)


def verdict(client, decision):
    """Return the page's headline as text, and its links."""
    html = re.search(r'<section class="verdict .*?</section>', page(client, decision)).group()
    links = {unescape(text): unescape(link) for link, text in re.findall(r'<a [^>]*href="([^"]*)">([^<]*)</a>', html)}
    return " ".join(unescape(re.sub("<[^>]+>", " ", html)).split()), links


def test_the_page_of_a_decision_leads_with_who_was_answered_what_and_why_despite_later_changes(admin, decide, account):
    decision = decide(permission="commercial_use", context={"ip": "203.0.113.9"})
    made = AccessEvent.objects.get(pk=decision)
    told, links = verdict(admin, decision)
    assert told == (
        "Denied There was no valid licence. Who org_acme"
        f" What commercial_use of The item ({decide.item.pk}) When {made.created:%Y-%m-%d %H:%M:%S}"
        " Rule Rule 2 : Deny always. Says: “A valid licence is required.”"
        f" Policy {decide.policy.name}, as of version 1 Charge Nothing"
    )
    assert links == {
        "org_acme": change_url(made.requester),
        "The item": change_url(decide.item),
        "Rule 2": f"{change_url(decide.policy)}#rules",
        f"{decide.policy.name}, as of version 1": f"{change_url(decide.policy)}#rules",
    }
    policy_services.update_policy(decide.policy, {"rules": [factories.ALLOW_ALL]})
    told, links = verdict(admin, decision)
    assert "Rule 2 : Deny always." in told
    versions = admin.get(links[f"{decide.policy.name}, as of version 1"]).content.decode()
    assert re.findall(r"<h2>Version (\d+)", versions) == ["1"]

    told = page(admin, decision)
    assert '"verdict-title">Denied<' in told
    assert "There was no valid licence." in told
    assert "as of version 1" in told
    assert "Does not match: licenseType wants commercial, enterprise, saw nothing." in told
    assert "Decides." in told
    assert "A valid licence is required." in told
    assert "203.0.113.9" in told
    content_services.delete_content(decide.item)
    assert "deleted since" in page(admin, decision)


def test_an_allowed_decision_leads_to_its_rule_its_licence_and_the_entry_of_its_charge(admin, decide, account):
    held = factories.license(account, per_access="0.05")
    decision = decide()
    told, links = verdict(admin, decision)
    assert told.startswith("Allowed Rule 1 allows it, by a licence of type commercial. Who")
    [entry] = admin.get(links["0.05 USD"]).context["cl"].result_list
    assert entry.amount == Decimal("0.05")
    told = page(admin, decision)
    assert held.pk in told
    assert "held by the service" in told


def test_decisions_that_might_have_paid_are_listed(admin, decide, account, api):
    wanting = decide()
    factories.license(account)
    decide()
    policy_services.update_policy(decide.policy, {"rules": [{**factories.ALLOW_ALL, "permissions": ["display"]}]})
    short = decide(permission="ai_training")
    policy_services.update_policy(decide.policy, {"rules": [factories.DENY_ALL]})
    decide()
    assert found(admin, outcome="unmet_demand") == [short, wanting]


def test_a_decision_without_a_rule_or_with_its_limit_explains_itself(admin, api, account, decide):
    limited = {**factories.ALLOW_ALL, "rateLimit": {"requests": 5, "period": "hour"}}
    item = factories.content(account, policy_id=factories.policy(account, limited).pk)
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_a"})["id"]
    assert "5 an hour" in page(admin, decision)

    bare = factories.content(account, title="Bare")
    told, _ = verdict(admin, api.post("/v1/access/check", {"contentId": bare.pk, "requester": "org_a"}).body["id"])
    assert told.startswith("Denied The item had no policy.")
    assert "Rule None decided it. Policy None" in told
    policy_services.update_policy(decide.policy, {"mode": "disabled"})
    told, _ = verdict(admin, decide())
    assert told.startswith("Allowed The policy or the site was disabled, so no rule was evaluated.")
    policy_services.update_policy(decide.policy, {"mode": "observe"})
    told, _ = verdict(admin, decide())
    assert told.startswith("Allowed (observed) If enforced, it would be denied: there was no valid licence.")

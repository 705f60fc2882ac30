import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analytics.models import AccessEvent, ExchangeRate
from licensing.requesters.models import Requester
from operators.overview import headline, licenses
from tests import factories, ledger
from tests.admin.headline import INDEX, card, links, listed
from tests.client import ApiClient


@pytest.fixture(autouse=True)
def _now(clock):
    clock.set("2026-03-04T12:30:00Z")


def text_of(client, name, **query):
    return words(card(client, name, **query))


def words(shown):
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", shown)).split())


def check(account, requester, count=1, item=None, **more):
    api = ApiClient(factories.key_text(account))
    item = item or factories.content(account, policy_id=factories.policy(account).pk)
    for _ in range(count):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": requester, **more}).status == 200
    return item


@pytest.fixture
def booked(account, clock):
    check(account, "org_zero")
    for amount, currency, days in (("30", "EUR", 1), ("12.5", "EUR", 40), ("7", "USD", 2), ("5", "JPY", 45)):
        ledger.add(account, amount, currency=currency, occurred_at=clock.now - timedelta(days=days))


def test_earnings_are_compared_with_the_previous_period_and_lead_to_their_entries(
    admin, booked, account, other_account
):
    told = text_of(admin, "earned", currency="USD")
    assert told == (
        "Earned 7.00 USD nothing in as many days before 30.00 EUR +140.00 % against 12.50 in as many days before "
        "0 JPY -100.00 % against 5 in as many days before"
    )

    assert "30.00 EUR" in text_of(admin, "earned", currency="CHF")
    ledger.add(other_account, "9", currency="EUR")
    [entry] = listed(admin, links(card(admin, "earned", account=account.pk))["30.00 EUR"])
    assert (entry.account_id, entry.currency, entry.amount) == (account.pk, "EUR", 30)


def figure(client, name, **query):
    found = re.search(rf'id="{name}">(.*?)</dd>', client.get(INDEX, query).content.decode(), re.S)
    return html.unescape(found.group(1))


@pytest.mark.parametrize("currency", ["GBP", "EUR"])
def test_earnings_equal_the_revenue_below_them(admin, booked, clock, currency):
    for days in range(0, 63, 7):  # the dollar falls
        for code, rate in (("USD", f"1.{days + 10}"), ("GBP", "0.8"), ("JPY", "160")):
            ExchangeRate.objects.create(currency=code, day=clock.now - timedelta(days=days), rate=rate)
    total = figure(admin, "revenue-total", currency=currency)
    change = figure(admin, "revenue-change", currency=currency)
    told = text_of(admin, "earned", currency=currency)
    assert told.startswith(f"Earned {total} {currency} {change} against ")
    assert told.count("%") == 1
    assert "7.00 USD" in told


@pytest.fixture
def refused(account, clock):
    """Five `no_license` denials of two requesters, three denials for other reasons, and older denials."""
    clock.set("2026-01-04T12:30:00Z")
    item = check(account, "org_zero", 2)
    clock.set("2026-03-04T12:30:00Z")
    check(account, "org_zero", 3, item)
    check(account, "org_keen", 2, item)
    check(account, factories.LICENSED_REQUESTER, 4, item)
    check(account, "org_zero", 1, factories.content(account))  # has no policy
    denying = factories.policy(account, {"action": "deny", "conditions": {"default": True}})
    licensed = factories.content(account, policy_id=denying.pk)
    check(account, factories.LICENSED_REQUESTER, 2, licensed)
    return item


def test_refusals_are_listed_by_reason_and_requester_a_click_from_a_licence(admin, refused, account):
    told = text_of(admin, "refused")
    assert "Refused, might have paid 5 decisions that a licence" in told
    assert "5 there was no valid licence" in told
    assert re.search("org_zero 3 .*org_keen 2", told)
    Requester.objects.filter(requester_id="org_zero").update(is_erased=True)
    assert "org_zero" not in text_of(admin, "refused")  # an erased person buys no licence

    check(account, "org_keen", 9, refused)
    shown = card(admin, "refused")
    address = re.search('href="([^"]*)" aria-label="Issue a licence to org_keen"', shown).group(1)
    requester = AccessEvent.objects.filter(requester__requester_id="org_keen")[0].requester
    assert address == reverse("admin:licensing_requester_issue_license", args=[requester.pk])

    check(account, "anonymous", 20, refused)
    check(account, "unverified:gptbot", 15, refused)
    told = text_of(admin, "refused")
    for nobody in ("anonymous 20", "unverified:gptbot 15"):
        assert f"{nobody} nobody proves to be this visitor" in told


def test_customers_without_credit_are_a_click_from_a_top_up(admin, account, clock):
    clock.set("2026-03-04T12:30:00Z")
    held = factories.license(account)
    factories.wallet(account, "access", 1, requester_id=held.requester.requester_id)
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check(account, held.requester.requester_id, 3, item)
    shown = card(admin, "refused")
    assert reverse("admin:licensing_requester_top_up", args=[held.requester_id]) in shown
    assert "Issue licence" not in shown


@pytest.mark.parametrize("one_account", [True, False])
def test_each_figure_of_what_was_refused_leads_to_as_many_decisions(
    admin, account, other_account, refused, one_account
):
    check(other_account, "org_zero", 4)
    query = {"account": account.pk} if one_account else {}
    shown = card(admin, "refused", **query)
    figures = re.findall(r'<a href="([^"]*)"[^>]*>(\d+)</a>', shown)
    assert len(figures) == (4 if one_account else 5)
    for address, figure in figures:
        assert len(listed(admin, html.unescape(address))) == int(figure)


@pytest.mark.parametrize("one_account", [True, False])
def test_requesters_are_counted_among_the_newest_decisions_and_that_is_told(
    admin, account, refused, monkeypatch, clock, one_account
):
    monkeypatch.setattr(headline, "MAX_SCANNED", 3)
    for second in range(5):
        clock.set(f"2026-03-04T12:31:0{second}.500Z")
        check(account, "org_last", 1, refused)
    shown = card(admin, "refused", **({"account": account.pk} if one_account else {}))
    assert "since 2026-03-04 12:31:03" in words(shown)
    assert listed(admin, links(shown)["2"]) == list(
        AccessEvent.objects.filter(requester__requester_id="org_last").order_by("-created")[:2]
    )
    assert "10 decisions" in words(shown)


def test_no_python_function_runs_for_each_decision(admin, account, refused):
    check(account, "org_last", 1, refused)
    with CaptureQueriesContext(connection) as captured:
        assert admin.get(reverse("admin:index")).status_code == 200
    of_decisions = [query["sql"] for query in captured if "analytics_accessevent" in query["sql"]]
    assert of_decisions
    for sql in of_decisions:  # a subquery calls SQLite's function of Django once
        assert sql.count("django_datetime_trunc") == sql.count("(SELECT django_datetime_trunc")


def test_customers_with_a_licence_who_were_denied_before_the_searched_decisions_are_not_denied_to_exist(
    admin, account, refused, monkeypatch, clock
):
    factories.license(account, "org_late", license_type="other")
    clock.advance(minutes=1)
    check(account, "org_late", 1, refused)
    assert "org_late" in text_of(admin, "licenses")
    monkeypatch.setattr(licenses, "MAX_SCANNED", 2)
    clock.advance(minutes=1)
    check(account, "org_zero", 2, refused)
    shown = text_of(admin, "licenses")
    assert "No customer with a current or former licence was denied. Searched in the newest 2 decisions." in shown


def test_an_account_without_problems_is_told_so_and_offered_a_licence_to_issue(admin, account):
    check(account, factories.LICENSED_REQUESTER)
    assert "Nobody was refused for lack of a licence." in text_of(admin, "refused")
    check(account, factories.LICENSED_REQUESTER)
    assert text_of(admin, "hand") == "Needs a hand Nothing does."

    check(account, "org_zero")
    assert links(card(admin, "earned")) == {"issue a licence": reverse("admin:licensing_license_add")}


def test_problems_are_listed_with_links(admin, account, clock):
    item = check(account, "org_zero")
    check(account, "org_zero", 2, factories.content(account))
    held = factories.license(account, "org_late", license_type="other", expires_at=clock.now + timedelta(days=9))
    clock.advance(minutes=1)
    check(account, "org_late", 1, item)
    endpoint, _ = factories.endpoint(account)
    type(endpoint).objects.filter(pk=endpoint.pk).update(failing_since=clock.now)
    shown = card(admin, "hand", account=account.pk)
    assert list(links(shown)) == [
        "A webhook fails.",
        "A customer with a licence was denied in the last 24 hours.",
        "A licence ends within 60 days and is not renewed.",
        "2 decisions were denied because the item had no policy. Link one.",
    ]
    assert held.pk
    page = admin.get(INDEX).content.decode()
    for address in links(shown).values():
        if address.startswith("#"):
            assert f'id="{address[1:]}"' in page
    [without] = listed(admin, list(links(shown).values())[-1])
    assert without.policy_id is None

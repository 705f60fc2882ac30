import csv
import html
import io
import re
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.keys.authentication import find_grant
from accounts.keys.callers import Use, write_use
from accounts.limits.limiter import limiter
from accounts.limits.windows import edge_hit, plan_hit
from accounts.models import ApiKey
from analytics.models import ExchangeRate
from licensing.sites.refused_proxies import RefusedProxy, note_refused_proxy
from operators.base.figures import choice
from operators.base.links import change_url
from tests import factories, ledger
from tests.admin.overview import INDEX, check, figure, number, page, rows

pytestmark = pytest.mark.usefixtures("at_noon")


def test_usage_and_revenue_are_those_of_the_api(admin, api, busy):
    names = {
        "total": "totalRequests", "allowed": "allowed", "denied": "denied", "requesters": "uniqueRequesters",
        "content": "uniqueContent",
    }  # fmt: skip
    for period in ("7d", "30d", "90d", "year"):
        report = api.get("/v1/analytics/usage", period=period).body
        shown = page(admin, period=period)
        assert {name: number(shown, f"usage-{name}") for name in names} == {
            name: report["summary"][of_api] for name, of_api in names.items()
        }, period
        content = [[row["title"], str(row["requests"])] for row in report["topContent"]]
        assert rows(shown, "top-content") == content, period
        assert rows(shown, "top-requesters") == [
            [row["name"] or row["id"], str(row["requests"])] for row in report["topRequesters"]
        ], period
        assert [figure for _, figure in rows(shown, "reasons")] == [
            str(row["count"]) for row in report["byDenialReason"]
        ], period

        report = api.get("/v1/analytics/revenue", period=period).body
        assert number(shown, "revenue-total") == report["summary"]["total"], period
        assert number(shown, "revenue-projected") == report["summary"]["projectedMonthly"], period
        assert [line[-1] for line in rows(shown, "tiers")] == [
            f"{amount:.2f}" for amount in report["byLicenseType"].values()
        ], period


def test_the_file_of_revenue_has_each_customer_and_item_and_the_figures_of_the_page(admin, account, sign_in, staff):
    for number_ in range(11):
        entry = {"requester": ledger.requester(account, f"org_{number_:02}"), "content": factories.content(account)}
        ledger.add(account, "1.25", occurred_at=timezone.now(), **entry)
    shown = page(admin, period="month")
    link = html.unescape(re.search(r'href="([^"]+)" download>Download as CSV', shown.content.decode()).group(1))
    text = b"".join(admin.get(link).streaming_content).decode("utf-8-sig")
    found = list(csv.DictReader(io.StringIO(text)))
    assert Counter(row["list"] for row in found) >= Counter(summary=1, byRequester=11, byContent=11, byLicenseType=1)
    assert float(found[0]["total"]) == number(shown, "revenue-total") == 13.75
    assert sign_in(staff("analytics.view_accessevent", accounts=[account])).get(link).status_code == 403


def counted(client, reply, name):
    """Return each row's text, and the number of rows in the list that its figure links to."""
    table = re.search(rf'<table aria-labelledby="{name}">(.*?)</table>', reply.content.decode(), re.S).group(1)
    told = []
    for line in re.findall(r"<tr>(.*?)</tr>", table, re.S)[1:]:
        address = html.unescape(re.findall(r'href="([^"]+)"', line)[-1])
        figure = strip_tags(re.search(r'<td class="number">(.*?)</td>', line, re.S).group(1))
        told.append((figure, str(client.get(address).context["cl"].result_count)))
    return told


def test_a_figure_leads_to_what_it_counts_of_its_period_and_account(admin, account, other_account, busy, clock):
    clock.set("2025-12-04T10:00:00Z")
    check(account, 2, busy)
    check(account, 2, busy, "org_zero")
    clock.set("2026-03-04T12:30:00Z")
    check(other_account, 2, requester="org_zero")
    for name in ("reasons", "top-content", "top-requesters"):
        rows_told = counted(admin, page(admin, period="30d", account=account.pk), name)
        assert rows_told, name
        assert all(figure == listed for figure, listed in rows_told), name


def test_today_is_compared_with_yesterday_and_charted_and_the_page_says_which_accounts_it_leaves_out(
    admin, busy, monkeypatch
):
    shown = page(admin)
    assert (number(shown, "usage-today"), number(shown, "usage-yesterday")) == (5, 3)
    assert (number(shown, "revenue-today"), number(shown, "revenue-yesterday")) == (9.25, 20.5)
    text = strip_tags(page(admin).content.decode())
    assert re.search(
        r"Today against yesterday, until 12:00 UTC\s*\+33 %\s*today 4, yesterday 3", text
    )  # today's fifth decision is in the current hour

    tables = re.findall(
        r'<figure class="bar-chart" data-unit="(\w+)">(.*?)</figure>', page(admin).content.decode(), re.S
    )
    told = {unit: [strip_tags(row) for row in re.findall(r"<tr>(.*?)</tr>", html, re.S)] for unit, html in tables}
    assert told["Decisions"][0] == "Day (UTC)AllowedDeniedTotal"
    assert told["Decisions"][-2:] == ["2026-03-03303", "2026-03-04415"]
    assert told["USD"][-2:] == ["2026-03-0320.50", "2026-03-049.25"]
    text = page(admin).content.decode()
    assert "5 of 1,000,000" in text
    assert "near its limit" not in text

    monkeypatch.setattr(choice, "MAX_ACCOUNTS", 2)
    for number_ in range(3):
        factories.account(f"Quiet {number_}")
    assert "There are more accounts than these" in page(admin).content.decode()


def offered(reply):
    options = re.search(r'<select id="choice-currency"[^>]*>(.*?)</select>', reply.content.decode(), re.S).group(1)
    return re.findall(r"<option(?: selected)?>([A-Z]{3})", options)


def test_the_page_begins_with_the_currency_of_most_bookings_and_offers_those_with_a_rate(admin, account, clock):
    ledger.add(account, "5", currency="GBP", occurred_at=clock.now - timedelta(days=1))
    shown = page(admin)
    assert "Revenue in GBP" in strip_tags(shown.content.decode())
    assert figure(shown, "revenue-total") == "5.00"

    for currency, days in (("GBP", [1]), ("EUR", [1, 2])):
        for day in days:
            ledger.add(account, "5", currency=currency, occurred_at=clock.now - timedelta(days=day))
    assert offered(page(admin)) == ["EUR", "GBP"]
    ExchangeRate.objects.create(currency="USD", day="2026-03-03", rate="1.25")
    ExchangeRate.objects.create(currency="JPY", day="2025-03-03", rate="150")  # no longer
    assert offered(page(admin)) == ["EUR", "GBP", "USD"]
    assert offered(page(admin, currency="CHF")) == ["EUR", "GBP", "USD", "CHF"]


def test_a_missing_rate_is_told_with_what_to_do_and_another_currency_is_what_the_api_converts_to(admin, busy, api):
    shown = page(admin, currency="GBP", period="7d")
    text = shown.content.decode()
    assert re.search(r"there is no exchange rate for the day: [\d.]+ USD \(\d entries\)", text)
    assert number(shown, "revenue-total") == 0
    assert "import_exchange_rates" in text
    assert f"{INDEX}?period=7d&amp;currency=USD" in text
    assert number(shown, "usage-total") == 8

    for currency, rate in (("USD", "1.25"), ("GBP", "0.8")):
        ExchangeRate.objects.create(currency=currency, day="2026-03-03", rate=rate)
    report = api.get("/v1/analytics/revenue", currency="GBP").body
    assert number(page(admin, currency="GBP"), "revenue-total") == report["summary"]["total"] == 19.04


def test_keys_to_look_after_are_named_within_the_account(admin, account, clock):
    old, _ = factories.api_key(account, name="Old crawler")
    ApiKey.objects.filter(pk=old.pk).update(created_at=clock.now - timedelta(days=91))
    factories.api_key(account, name="In daily use")
    ending, _ = factories.api_key(account, name="Ends soon")
    ApiKey.objects.filter(pk=ending.pk).update(expires_at=clock.now + timedelta(days=3))
    text = page(admin).content.decode()
    assert "Old crawler" in text
    assert "Ends soon" in text
    assert "In daily use" not in text
    ApiKey.objects.filter(pk=factories.api_key(account)[0].pk).update(created_at=timezone.now() - timedelta(days=100))
    reply = page(admin, account=account.pk)
    assert f"?attention=unused&amp;account__id__exact={account.pk}" in reply.content.decode()


def test_keys_with_which_a_proxy_is_refused_come_first(admin, account, busy, clock):
    factories.api_key(account, name="Ends soon", expires_at=clock.now + timedelta(days=3))
    key, text = factories.api_key(account, name="Proxy of pub.example")
    write_use(Use(find_grant(text), "This API key has been revoked."), clock.now)
    text = strip_tags(page(admin).content.decode())
    assert "A proxy is refused with its key. For its site the service is down." in text
    assert text.index("refused at the edge since 2026-03-04 12:30") < text.index("expires in 3 days")
    factories.site(account, host="pub.example")
    note_refused_proxy(RefusedProxy("pub.example"), clock.now)
    seen = strip_tags(page(admin).content.decode())
    assert "A proxy asks about a site with an unknown key, or with one for other hosts." in seen
    assert "in the proxy’s file, or in WordPress’ wp-config.php." in seen
    assert seen.index("The service does not know its key.") < seen.index("refused at the edge since")
    assert list(admin.get("/admin/accounts/apikey/?attention=refused").context["cl"].result_list) == [key]
    assert "last at 2026-03-04 12:30: This API key has been revoked." in strip_tags(
        admin.get(change_url(key)).content.decode()
    )


def test_accounts_near_or_above_their_limits_are_marked(admin, db):
    starter = factories.account("Small shop", plan="starter")
    hit = plan_hit(starter.pk, *starter.limits)
    for _ in range(48):
        limiter.consume(hit)
    for _ in range(2):
        text = page(admin).content.decode()
        assert "near its limit" in text
        assert "48 of 60" in text
    hit = edge_hit(starter.pk, *starter.edge_limits)
    for _ in range(601):
        limiter.consume(hit)
    text = page(admin).content.decode()
    assert "over its plan at the edge" in text
    assert "601 of 600 at the edge" in text


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        ("this process", "Set REDIS_URL to count all."),
        ("per process: Redis does not answer", "because Redis does not answer."),
    ],
)
def test_limits_that_only_this_process_counts_are_told_with_the_reason(admin, busy, monkeypatch, state, advice):
    monkeypatch.setattr(limiter, "state", lambda: state)
    text = page(admin).content.decode()
    assert text.count("Shows only requests that this process counted") == 1
    assert advice in text


def test_more_accounts_cost_no_more_queries(admin, busy, django_assert_max_num_queries):
    for number_ in range(30):
        check(factories.account(f"Publisher {number_}"))
    with django_assert_max_num_queries(24):
        page(admin)


def test_an_amount_given_back_is_less_than_nothing(admin, account):
    ledger.add(account, "-5")
    shown = page(admin)
    assert figure(shown, "revenue-total") == "-5.00"
    assert '<td class="number">-5.00</td>' in shown.content.decode()

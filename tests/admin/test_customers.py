import csv
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import AccessEvent, ExchangeRate, LedgerEntry, Wallet
from analytics.wallets.services import add_grant
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license
from licensing.requesters.models import Requester
from operators.base.links import change_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import form_values, html_of, submit
from tests.client import ApiClient

INDEX = reverse("admin:index")
ADD = reverse("admin:licensing_license_add")


def words(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def figure(html, name):
    return words(re.search(rf'<dd id="{name}">(.*?)</dd>', html, re.S)[1])


def revenue(html):
    """Return the page's revenue totals by currency."""
    sums = re.search(r'<ul class="overview-sums".*?</ul>', html, re.S)[0]
    return [words(line) for line in re.findall(r"<li>(.*?)</li>", sums, re.S)]


def section(html, name):
    """Return the text of the page's section with that heading."""
    found = re.search(rf'<section[^>]*aria-labelledby="{name}".*?</section>', html, re.S)
    return words(found[0]) if found else None


@pytest.fixture
def item(account):
    return factories.content(account, policy_id=factories.policy(account).pk, tags=["news"])


@pytest.fixture
def asked(account, api, item):
    """Two denials, then a licence with three charged accesses, and one denial of another requester."""

    def ask(requester="org_acme"):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": requester}).status == 200

    ask()
    ask()
    held = factories.license(account, per_access="0.05", price_amount=Decimal(1234), price_currency="EUR")
    for _ in range(3):
        ask()
    ask("org_other")
    return held


def test_pages_of_a_requester_and_an_item_have_30_days_of_figures_and_lead_to_licences_and_checks(
    admin, asked, item, account
):
    html = html_of(admin, change_url(asked.requester))
    assert [figure(html, f"of-one-{name}") for name in ("total", "allowed", "denied")] == ["5", "3", "2"]
    assert "outcome=no_license" in html
    today = f"{timezone.now():%Y-%m-%d}"
    assert f"{today} 3 2 5" in words(html)
    assert revenue(html) == ["1,234.00 EUR", "0.15 USD"]
    html = html_of(admin, change_url(item))
    assert [figure(html, f"of-one-{name}") for name in ("total", "allowed", "denied")] == ["6", "3", "3"]
    assert revenue(html) == ["0.15 USD"]
    assert "The last 30 days" not in admin.get(reverse("admin:licensing_content_add")).content.decode()

    form = form_values(html_of(admin, follow(admin, "licensing_requester_issue_license", asked.requester.pk)))
    assert (form["requester_own_id"], form["account"]) == (["org_acme"], [asked.account_id])
    form = form_values(html_of(admin, follow(admin, "licensing_content_issue_license", item.pk)))
    assert (form["content_ids"], form["account"]) == ([item.pk], [item.account_id])

    form = form_values(html_of(admin, follow(admin, "licensing_requester_check_access", asked.requester.pk)))
    assert form["requester"] == ["org_acme"]
    form = form_values(html_of(admin, follow(admin, "licensing_content_check_access", item.pk)))
    assert form["item"] == [item.pk]
    html = html_of(admin, change_url(asked.requester))
    assert reverse("admin:licensing_requester_check_access", args=[asked.requester.pk]) in html


def test_the_licences_on_the_pages_of_an_item_and_a_requester(admin, account, item):
    other = factories.content(account)
    covering = {
        "whole": {},
        "by-item": {"content_ids": [item.pk]},
        "by-tag": {"tags": ["sport", "news"]},
        "by-policy": {"policy_ids": [item.policy_id]},
    }
    beside = {"of-another": {"content_ids": [other.pk]}, "of-sport": {"tags": ["sport"]}}
    for name, scope in {**covering, **beside}.items():
        factories.license(account, license_type=name, **scope)
    ended = timezone.now() - timedelta(days=1)
    factories.license(account, license_type="ended", starts_at=ended - timedelta(days=1), expires_at=ended)
    revoke_license(factories.license(account, license_type="revoked"))
    told = section(html_of(admin, change_url(item)), "of-one-licenses")
    assert all(name in told for name in covering)
    assert not any(name in told for name in (*beside, "ended", "revoked"))

    now = timezone.now()
    old = factories.license(
        account, license_type="ended", starts_at=now - timedelta(9), expires_at=now - timedelta(hours=1)
    )
    for name, days in (("in-a-year", 365), ("in-a-week", 7)):
        factories.license(account, license_type=name, expires_at=now + timedelta(days))
    factories.license(account, license_type="for-ever")
    told = section(html_of(admin, change_url(old.requester)), "of-one-licenses")
    assert re.findall("in-a-week|in-a-year|for-ever|ended", told) == ["in-a-week", "in-a-year", "for-ever", "ended"]


def follow(client, name, pk):
    reply = client.get(reverse(f"admin:{name}", args=[pk]))
    assert reply.status_code == 302
    return reply.headers["Location"]


def test_decisions_money_and_checks_require_their_permissions(sign_in, staff, account, asked):
    client = sign_in(staff("licensing.view_requester", accounts=[account]))
    html = html_of(client, change_url(asked.requester))
    assert "of-one-total" not in html
    assert "1,234.00" not in html
    assert "of-one-licenses" not in html
    assert "issue-license" not in html
    assert "check-access" not in html_of(client, change_url(asked.requester))
    assert client.get(reverse("admin:licensing_requester_check_access", args=[asked.requester.pk])).status_code == 403


@pytest.mark.parametrize(
    ("start", "end", "next_end"),
    [
        ("2090-01-01", "2091-01-01", "2092-01-01"),
        ("2092-02-29", "2093-02-28", "2094-02-28"),
        ("2090-01-31", "2090-02-28", "2090-03-28"),
        ("2090-01-01", "2090-01-11", "2090-01-21"),
    ],
)
def test_a_renewal_begins_where_the_old_one_ends_with_the_same_terms(admin, account, start, end, next_end):
    starts, ends = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, end))
    scope = {"tags": ["news", "sport"], "price_amount": Decimal("99.5"), "price_currency": "EUR", "per_access": "0.05"}
    held = factories.license(account, starts_at=starts, expires_at=ends, **scope)
    assert "/renew" in html_of(admin, change_url(held))
    address = follow(admin, "licensing_license_renew", held.pk)
    reply = submit(admin, address)
    assert "99.50 EUR is booked" in reply.content.decode()
    assert admin.post(address, form_values(reply.content.decode())).status_code == 302
    renewed = License.objects.exclude(pk=held.pk).get()
    assert (renewed.starts_at, f"{renewed.expires_at:%Y-%m-%d}") == (ends, next_end)
    for name in ("requester", "license_type", "tags", "price_amount", "price_currency", "access_amount"):
        assert getattr(renewed, name) == getattr(held, name)


def test_a_licence_with_an_end_is_renewed_and_one_without_is_not(admin, account):
    ended = timezone.now() - timedelta(days=100)
    held = factories.license(account, starts_at=ended - timedelta(days=10), expires_at=ended)
    form = form_values(html_of(admin, follow(admin, "licensing_license_renew", held.pk)))
    today = timezone.now()
    assert form["starts_at_0"] == [f"{today:%Y-%m-%d}"]
    assert form["expires_at_0"] == [f"{today + timedelta(days=10):%Y-%m-%d}"]

    endless = factories.license(account)
    revoked = revoke_license(factories.license(account, expires_at=timezone.now() + timedelta(days=9)))
    for held in (endless, revoked):
        html = html_of(admin, change_url(held))
        assert "/renew" not in html
        assert "/duplicate" in html

    first, last = (datetime(year, 12, 31, tzinfo=UTC) for year in (2020, 9999))
    held = factories.license(account, starts_at=first, expires_at=last)
    assert "/renew" not in html_of(admin, change_url(held))
    form = form_values(html_of(admin, follow(admin, "licensing_license_duplicate", held.pk)))
    assert (form["license_type"], form["expires_at_0"]) == (["commercial"], [""])


def test_a_duplicate_has_the_terms_and_asks_for_whom(admin, account):
    held = factories.license(account, tags=["news"], per_access="0.05", price_amount=Decimal(5), price_currency="EUR")
    form = form_values(html_of(admin, follow(admin, "licensing_license_duplicate", held.pk)))
    assert form["requester_own_id"] == [""]
    shown = {name: form[name] for name in ("license_type", "tags", "price_amount", "price_currency", "access_amount")}
    assert shown == {
        "license_type": ["commercial"],
        "tags": ["news"],
        "price_amount": ["5"],
        "price_currency": ["EUR"],
        "access_amount": ["0.05"],
    }
    assert License.objects.count() == 1
    assert LedgerEntry.objects.count() == 1


def test_nothing_is_filled_in_from_a_licence_of_another_account(sign_in, account, other_account):
    user, _ = create_operator("eve", role="Editor", accounts=[account])
    held = factories.license(other_account, license_type="secret-tier", expires_at=timezone.now() + timedelta(days=9))
    client = sign_in(user)
    for name in ("renew", "duplicate"):
        assert client.get(f"{ADD}?{name}={held.pk}").status_code == 404
        assert client.get(reverse(f"admin:licensing_license_{name}", args=[held.pk])).status_code in (302, 404)


def looked_after(client, **query):
    return section(html_of(client, INDEX, **query), "licenses-title")


def test_the_overview_lists_licences_that_end_within_60_days_with_a_way_to_renew_them(admin, account):
    now = timezone.now()
    ending = factories.license(account, license_type="soon", expires_at=now + timedelta(days=20))
    factories.license(account, license_type="later", expires_at=now + timedelta(days=59, hours=23))
    for name, days in (("much-later", 61), ("never", None)):
        factories.license(account, license_type=name, expires_at=days and now + timedelta(days=days))
    revoke_license(factories.license(account, license_type="revoked", expires_at=now + timedelta(days=5)))
    html = html_of(admin, INDEX)
    told = looked_after(admin)
    assert "soon" in told
    assert "later" in told
    assert "much-later" not in told
    assert "revoked" not in told
    assert reverse("admin:licensing_license_renew", args=[ending.pk]) in html
    assert reverse("admin:licensing_license_duplicate", args=[ending.pk]) in html


def test_a_renewed_licence_leaves_the_list(admin, account):
    now = timezone.now()
    held = factories.license(account, tags=["news"], expires_at=now + timedelta(days=20))
    factories.license(account, tags=["sport"], starts_at=held.expires_at, expires_at=now + timedelta(days=300))
    assert "commercial" in looked_after(admin)  # the following licence has another scope
    factories.license(account, tags=["news"], starts_at=held.expires_at, expires_at=now + timedelta(days=400))
    assert "No licence ends within 60 days" in looked_after(admin)


def test_a_denied_customer_is_listed_until_a_licence_changes(admin, account, api, item):
    now = timezone.now()
    ended = now - timedelta(hours=2)
    held = factories.license(account, "org_lapsed", starts_at=ended - timedelta(days=30), expires_at=ended)
    for requester in ("org_lapsed", "org_lapsed", "org_stranger"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})
    told = looked_after(admin)
    assert re.search(r"org_lapsed 2 .* commercial ended", told)
    assert "org_stranger" not in told
    assert reverse("admin:licensing_license_renew", args=[held.pk]) in html_of(admin, INDEX)
    factories.license(account, "org_lapsed")
    assert "org_lapsed" not in looked_after(admin)

    api = ApiClient(factories.key_text(account))
    held = factories.license(account, "org_wrong", license_type="other")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_wrong"})
    assert "org_wrong" in looked_after(admin)
    AccessEvent.objects.update(created=held.created - timedelta(days=2))
    assert "org_wrong" not in looked_after(admin)


def test_licences_are_looked_after_within_accounts_and_permissions(sign_in, staff, account, other_account, item):
    factories.license(account, expires_at=timezone.now() + timedelta(days=5))
    assert looked_after(sign_in(staff("analytics.view_accessevent", accounts=[account]))) is None
    user, _ = create_operator("eve", role="Viewer", accounts=[account])
    factories.license(other_account, license_type="theirs", expires_at=timezone.now() + timedelta(days=5))
    factories.license(account, license_type="ours", expires_at=timezone.now() + timedelta(days=5))
    told = looked_after(sign_in(user))
    assert "ours" in told
    assert "theirs" not in told
    assert "Renew" not in told  # which a viewer may not


LIST = reverse("admin:licensing_requester_changelist")
EXPORT = reverse("admin:licensing_requester_export_items")


@pytest.fixture
def owing(account):
    for name, amount, currency in (("org_a", 100, "EUR"), ("org_a", 5, "USD"), ("org_b", 20, "EUR")):
        factories.license(account, name, price_amount=Decimal(amount), price_currency=currency)
    factories.requester(account, requester_id="org_c", name="Third")
    factories.payment(account, 30, requester_id="org_c", currency="EUR")


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ("", "120.00 EUR owed, 5.00 USD owed, 30.00 EUR paid in advance"),
        ("?o=3", "120.00 EUR owed, 5.00 USD owed, 30.00 EUR paid in advance"),
        ("?q=org_b", "20.00 EUR owed"),
        ("?balance=advance", "30.00 EUR paid in advance"),
        ("?currency=usd", "5.00 USD owed"),
        ("?currency=USD&balance=advance", "nothing"),
        ("?currency=GBP", "nothing"),
        ("?q=x", "nothing"),
    ],
)
def test_a_line_above_the_customers_adds_up_what_they_owe(admin, owing, query, total):
    shown = strip_tags(re.search(r'<p[^>]*id="list-total".*?</p>', html_of(admin, LIST + query), re.S)[0])
    assert shown.strip() == f"Total of these balances: {total}."


def exported(client, query=""):
    body = client.get(f"{EXPORT}{query}").getvalue()
    assert body.startswith(b"\xef\xbb\xbf")  # by which Excel recognises UTF-8
    lines = body.decode("utf-8-sig").splitlines()
    return list(csv.DictReader(lines))


def test_customers_are_exported_with_their_names_and_a_row_for_each_currency(admin, owing):
    names = ("id", "name", "licences", "currency", "owes", "revenue", "credit")
    rows = [tuple(row[name] for name in names) for row in exported(admin)]
    assert rows == [
        ("org_c", "Third", "", "EUR", "-30", "0", "0"),
        ("org_b", "", "commercial", "EUR", "20", "20", "0"),
        ("org_a", "", "commercial", "EUR", "100", "100", "0"),
        ("org_a", "", "commercial", "USD", "5", "5", "0"),
    ]
    assert [row["id"] for row in exported(admin, "?balance=advance")] == ["org_c"]


def test_customers_are_listed_whose_advance_exceeds_their_credit(admin, account, clock):
    for name, unit in (("org_covered", "EUR"), ("org_expiring", "EUR"), ("org_dollars", "USD")):
        factories.requester(account, requester_id=name)
        factories.payment(account, 5, requester_id=name, currency="EUR", now=clock.now)
        made = factories.wallet(account, unit, 4, requester_id=name)
        expires_at = clock.now + timedelta(days=30) if name == "org_expiring" else None
        add_grant(
            Wallet.objects.get(pk=made["wallet"]), {"amount": Decimal(1), "kind": "paid", "expires_at": expires_at}
        )
    listed = f"{LIST}?balance=beyond"
    assert [one.requester_id for one in admin.get(listed).context["cl"].result_list] == ["org_dollars"]
    clock.advance(days=31)
    assert [one.requester_id for one in admin.get(listed).context["cl"].result_list] == ["org_dollars", "org_expiring"]
    assert exported(admin, "?balance=beyond&currency=USD") == []
    page = html_of(admin, change_url(Requester.objects.get(requester_id="org_expiring")))
    assert "Paid beyond its credit 1.00 EUR: if credit has expired, charge it or record a payout" in words(page)
    page = html_of(admin, change_url(Requester.objects.get(requester_id="org_covered")))
    assert "Paid beyond its credit" not in words(page)


def test_who_has_paid_what_it_spent_below_0_has_paid_nothing_in_advance(admin, api, account, item):
    for name, paid in (("org_settled", 20), ("org_overpaid", 25)):
        factories.license(account, name, per_access="20")
        api.post("/v1/wallets", {"requesterId": name, "unit": "USD", "floor": -20})
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": name})["allowed"]
        factories.payment(account, paid, requester_id=name)
    assert [row["id"] for row in exported(admin, "?balance=beyond")] == ["org_overpaid"]
    page = html_of(admin, change_url(Requester.objects.get(requester_id="org_settled")))
    assert "Paid beyond its credit" not in words(page)
    page = html_of(admin, change_url(Requester.objects.get(requester_id="org_overpaid")))
    assert "Paid beyond its credit 5.00 USD:" in words(page)


def test_an_export_keeps_the_order_of_the_list_and_those_who_owe_most_come_first(admin, owing, monkeypatch):
    monkeypatch.setattr("operators.base.exporting.CHUNK", 2)

    def ids(query):
        listed = [one.requester_id for one in admin.get(LIST + query).context["cl"].result_list]
        assert list(dict.fromkeys(row["id"] for row in exported(admin, query))) == listed
        return listed

    assert ids("?o=3") == ["org_c", "org_b", "org_a"]
    assert ids("?o=-3") == ["org_a", "org_b", "org_c"]
    assert ids("?o=0") == ["org_a", "org_b", "org_c"]
    assert ids("?balance=owes") == ["org_a", "org_b"]
    assert ids("?balance=owes&o=3") == ["org_b", "org_a"]


def test_the_order_by_amounts_says_where_exchange_rates_lack_and_a_currency_alone_needs_none(admin, account, owing):
    factories.license(account, "org_yen", price_amount=Decimal(900), price_currency="JPY")

    def listed(query):
        reply = admin.get(LIST + query)
        rows = reply.context["cl"]
        assert ("their amounts are compared as numbers" in reply.content.decode()) is bool(rows.order_note)
        return [one.requester_id for one in rows.result_list], rows.order_note

    order, note = listed("?balance=owes")
    assert order == ["org_yen", "org_a", "org_b"]
    assert note == "Without exchange rates of JPY, USD, their amounts are compared as numbers: filter by a currency."
    assert listed("?balance=owes&currency=EUR") == (["org_a", "org_b"], "")
    assert listed("?currency=EUR&o=3") == (["org_c", "org_b", "org_a"], "")
    ExchangeRate.objects.create(day=timezone.now().date(), currency="JPY", rate="160")
    assert listed("?balance=owes")[0] == ["org_a", "org_b", "org_yen"]


def test_totals_and_exports_of_customers_have_what_the_operator_may_see(owing, staff, sign_in, account):
    client = sign_in(staff("licensing.view_requester", "analytics.view_wallet", accounts=[account]))
    assert "Total of" not in html_of(client, LIST)
    assert len(client.get(f"{LIST}?currency=USD").context["cl"].result_list) == 3
    hidden = {"licences", "last_seen", "owes", "revenue"}
    assert not hidden & exported(client)[0].keys()
    assert "credit" in exported(client)[0]

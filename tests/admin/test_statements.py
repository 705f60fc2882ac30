import csv
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from analytics.models import LedgerEntry, Payment, Statement, Wallet
from analytics.payments.services import void_payment
from analytics.statements.closing import close_due
from analytics.wallets.services import add_grant
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from operators.customers import statements
from operators.customers.statements import StatementAdmin
from tests import factories, ledger
from tests.admin.forms import html_of, open_form

LIST = reverse("admin:analytics_statement_changelist")
EXPORT = reverse("admin:analytics_statement_export_items")
PRINT_ALL = reverse("admin:analytics_statement_print_items")
PRINT = "admin:analytics_statement_print_page"
JANUARY, FEBRUARY = datetime(2026, 1, 5, 9, tzinfo=UTC), datetime(2026, 2, 6, 9, tzinfo=UTC)


@pytest.fixture
def booked(account):
    org = ledger.requester(account)
    item = factories.content(account, title="Herrings <b>")
    ledger.add(account, "100", type="license", created=JANUARY, requester=org, description="A year of it")
    for _ in range(2):
        ledger.add(account, "0.05", type="usage", created=JANUARY, requester=org, content=item, license_type="press")
    ledger.add(account, "-30", created=FEBRUARY, requester=org, description="Refund", external_id="GS-1")
    close_due(datetime(2026, 2, 3, tzinfo=UTC))


def test_the_list_shows_and_filters_months_with_their_balances(admin, booked):
    html = html_of(admin, LIST)
    for said in ("2026-01", "2026-02", "100.10 USD", "70.10 USD", "open", "closed"):
        assert said in html
    for query, number in (
        ("status=open", 1),
        ("status=closed", 1),
        ("currency=EUR", 0),
        ("q=org", 2),
        ("q=nobody", 0),
    ):
        assert admin.get(f"{LIST}?{query}").context["cl"].result_count == number
    assert "Total of these" not in html_of(admin, LIST)  # balances of several months are no sum
    listed = " ".join(strip_tags(html_of(admin, f"{LIST}?month=2026-01")).split())
    assert "Total of these closing balances: 100.10 USD owed." in listed
    html = html_of(admin, change_url(Statement.objects.get(closed_at__isnull=False)))
    for said in ("it never changes", "0.10 USD for 2 decisions", "A year of it", "Herrings &lt;b&gt;", "100.10 USD"):
        assert said in html
    one = Statement.objects.get(closed_at=None)
    html = html_of(admin, reverse("admin:analytics_statement_print_page", args=[one.pk]))
    for said in (
        "Statement for February 2026",
        "open: not final",
        "Refund",
        "Number GS-1",
        "-30.00",
        "70.10 USD",
        "statement.css",
    ):
        assert said in html
    assert "<script" not in html


def test_who_owed_what_at_the_end_of_a_month_is_on_the_latest_statements_up_to_it(admin, account):
    org, early, late = (ledger.requester(account, name) for name in ("org", "org_early", "org_late"))
    ledger.add(account, "100.1", created=JANUARY, requester=org)
    ledger.add(account, "-30", created=FEBRUARY, requester=org)
    ledger.add(account, "7", created=JANUARY, requester=early)
    ledger.add(account, "3", created=JANUARY, requester=early, currency="EUR")
    ledger.add(account, "-2", created=FEBRUARY, requester=late)
    ledger.add(account, "5", created=FEBRUARY + timedelta(days=30), requester=late)
    close_due(datetime(2026, 2, 3, tzinfo=UTC))

    def owed(query):
        reply = admin.get(f"{LIST}?balances=latest{query}")
        listed = reply.context["cl"]
        rows = [(one.requester.requester_id, one.currency, one.closing) for one in listed.result_list]
        exported = admin.get(f"{EXPORT}?balances=latest{query}").getvalue().decode("utf-8-sig").splitlines()
        assert len(list(csv.DictReader(exported))) == len(rows) == listed.result_count
        return sorted(rows), reply.context["totals"]

    january = [("org", "USD", Decimal("100.1")), ("org_early", "EUR", 3), ("org_early", "USD", 7)]
    february = [("org", "USD", Decimal("70.1")), *january[1:], ("org_late", "USD", -2)]
    assert owed("&month=2026-01") == (january, ["3.00 EUR owed", "107.10 USD owed"])
    assert owed("&month=2026-02") == (
        february,
        ["3.00 EUR owed", "77.10 USD owed", "2.00 USD paid in advance"],
    )
    assert owed("&month=2026")[0] == owed("")[0] == [*february[:3], ("org_late", "USD", 3)]
    assert owed("&month=2026-02&currency=USD&q=org_early")[0] == [("org_early", "USD", 7)]
    assert owed("&month=2025-12")[0] == []


def test_a_search_finds_all_customers_that_match(admin, account):
    for number in range(105):
        ledger.add(account, "1", created=FEBRUARY, requester=ledger.requester(account, f"org_{number:03}"))
        factories.payment(account, 1, requester_id=f"org_{number:03}", currency="USD", now=FEBRUARY)
    for model in (Statement, LedgerEntry, Payment):
        for term, count in (("org_", 105), ("org_00", 10)):
            assert (model, admin.get(list_url(model, q=term)).context["cl"].result_count) == (model, count)


def test_payments_are_among_the_figures_so_that_a_statement_adds_up(admin, account, booked):
    factories.payment(account, 1250, requester_id="org", currency="USD", now=FEBRUARY)
    one = Statement.objects.get(closed_at=None)
    for path in (change_url(one), reverse("admin:analytics_statement_print_page", args=[one.pk])):
        said = " ".join(strip_tags(html_of(admin, path)).split())
        figures = said[said.index("Opening balance") :]
        assert re.search(r"100\.10.*-30\.00.*Payments ?-1,250\.00.*Closing balance ?-1,179\.90 USD", figures)


def test_a_statement_in_the_customers_favour_says_so_and_its_list_of_payments_adds_up(admin, account, booked):
    factories.payment(account, 100, requester_id="org", currency="USD", now=FEBRUARY)
    factories.payment(account, 9, requester_id="org", currency="USD", now=FEBRUARY, kind="payout")
    one = Statement.objects.get(closed_at=None)
    listed = " ".join(strip_tags(html_of(admin, LIST)).split())
    assert re.search(r"100\.10 USD ?-30\.00 USD ?-91\.00 USD ?-20\.90 USD", listed)
    assert "Paid for credit 0.00 USD" in " ".join(strip_tags(html_of(admin, change_url(one))).split())
    html = html_of(admin, reverse("admin:analytics_statement_print_page", args=[one.pk]))
    shown = " ".join(strip_tags(html).split())
    assert "-20.90 USD in your favour" in shown
    assert "100.10 in your favour" not in shown
    kinds = {(what, amount) for _, what, *_, amount in cells(html)}
    assert kinds == {("Refund", "-30.00"), ("Payment", "-100.00"), ("Payout", "9.00")}


def test_the_statement_of_a_quota_counts_accesses_instead_of_money(admin, account):
    factories.license(account)
    factories.wallet(account, requester_id="org_acme", unit="access", amount="28")
    [statement] = Statement.objects.all()
    listed = strip_tags(html_of(admin, reverse("admin:analytics_statement_changelist")))
    shown = strip_tags(html_of(admin, change_url(statement)))
    printed = strip_tags(html_of(admin, reverse("admin:analytics_statement_print_page", args=[statement.pk])))
    assert "28 accesses" in listed
    assert "0 accesses spent" in listed
    assert "closing 28 accesses" in shown
    assert "28 accesses" in printed
    for html in (listed, shown, printed):
        assert "0.00" not in html
    for html in (shown, printed):
        assert "Licence prices" not in html


def test_a_statement_without_charges_has_no_empty_table_and_says_that_no_tax_is_in_it(admin, account, booked):
    factories.payment(account, 100, requester_id="org", currency="USD")
    printed = html_of(admin, reverse(PRINT, args=[Statement.objects.order_by("-month")[0].pk]))
    assert "Nothing was charged or refunded." in printed
    assert ">About</th>" not in printed
    assert "No tax is calculated" in printed


def test_the_listed_statements_are_printed_at_once_each_on_a_sheet(admin, account, booked, monkeypatch):
    ledger.add(account, "7", created=FEBRUARY, requester=ledger.requester(account, "org_late"))
    assert f'href="{PRINT_ALL}?month=2026-02&amp;o=-5"' in html_of(admin, f"{LIST}?month=2026-02&o=-5")
    html = html_of(admin, f"{PRINT_ALL}?month=2026-02&o=-5")
    sheets = [" ".join(strip_tags(sheet).split()) for sheet in html.split("<article>")[1:]]
    assert ["70.10 USD" in sheet for sheet in sheets] == [True, False]
    assert all("Statement for February 2026" in sheet for sheet in sheets)
    assert f'href="{LIST}?month=2026-02&amp;o=-5"' in html  # the way back
    monkeypatch.setattr(statements, "MOST_SHEETS", 2)
    for query in ("", "?q=nobody"):
        reply = admin.get(f"{PRINT_ALL}{query}", follow=True)
        assert "1 to 2 statements can be printed at once." in reply.text
    assert admin.get(f"{PRINT_ALL}?o=x").status_code == 302


def test_all_sheets_of_a_customer_are_together_and_each_page_can_be_told_apart(admin, account):
    alpha, beta = (factories.requester(account, requester_id=name) for name in ("org_2", "org_1"))
    Requester.objects.filter(pk=alpha.pk).update(name="älpha & Co")
    Requester.objects.filter(pk=beta.pk).update(name="Beta")
    unnamed = factories.requester(account, requester_id="carol")
    for customer, currency, created in (
        (alpha, "USD", JANUARY),
        (beta, "EUR", JANUARY),
        (unnamed, "EUR", JANUARY),
        (None, "EUR", JANUARY),
        (beta, "USD", JANUARY),
        (beta, "EUR", FEBRUARY),
    ):
        ledger.add(account, "1", created=created, requester=customer, currency=currency)
    html = html_of(admin, PRINT_ALL)
    assert [unescape(title) for title in re.findall('<p class="statement-running-head">(.*?)</p>', html)] == [
        "Statement 2026-01, EUR, Beta (org_1)",
        "Statement 2026-02, EUR, Beta (org_1)",
        "Statement 2026-01, USD, Beta (org_1)",
        "Statement 2026-01, EUR, carol",
        "Statement 2026-01, USD, älpha & Co (org_2)",
        "Statement 2026-01, EUR, no customer",
    ]


def test_the_files_of_a_statement_are_named_by_its_customer(admin, account):
    for own_id in ("org", 'Müller/"x" 1', None):
        customer = own_id and factories.requester(account, requester_id=own_id)
        ledger.add(account, "1", created=JANUARY, requester=customer, currency="EUR")
    names = set()
    for one in Statement.objects.all():
        html = html_of(admin, reverse(PRINT, args=[one.pk]))
        titles = re.findall(r'<title>(.*?)</title>|running-head">(.*?)</p>', html)
        assert titles[0][0] == titles[1][1]
        reply = admin.get(reverse("admin:analytics_statement_export_lines", args=[one.pk]))
        names.add(reply["Content-Disposition"])
    assert names == {
        'attachment; filename="statement-2026-01-EUR-org.csv"',
        "attachment; filename*=utf-8''statement-2026-01-EUR-M%C3%BCllerx_1.csv",
        'attachment; filename="statement-2026-01-EUR-no-customer.csv"',
    }


def test_the_list_is_sorted_by_customer(admin, account):
    for own_id in ("b", "C", "a"):
        ledger.add(account, "1", created=JANUARY, requester=factories.requester(account, requester_id=own_id))
    listed = admin.get(f"{LIST}?o=1").context["cl"].result_list
    assert [one.requester.requester_id for one in listed] == ["a", "b", "C"]


@pytest.mark.parametrize("order", ["", "&o=3", "&o=-5", "&o=-1"])
def test_one_query_adds_up_open_months_for_a_page_and_the_number_of_all(admin, account, monkeypatch, order):
    for number in range(3):
        ledger.add(account, str(number + 1), created=JANUARY, requester=ledger.requester(account, f"org_{number}"))
    monkeypatch.setattr(StatementAdmin, "list_per_page", 2)
    shown = []
    for number in (1, 2):
        with CaptureQueriesContext(connection) as queries:
            changelist = admin.get(f"{LIST}?p={number}{order}").context["cl"]
        assert sum('FROM "analytics_statement"' in query["sql"] for query in queries.captured_queries) == 1
        assert changelist.result_count == 3
        shown += [statement.total for statement in changelist.result_list]
    assert shown == [Decimal(one) for one in ((1, 2, 3) if order == "&o=3" else (3, 2, 1))]
    assert admin.get(f"{LIST}?p=9{order}").status_code == 302
    assert len(admin.get(f"{LIST}?p=9&q=org_1").context["cl"].result_list) == 1


def test_a_printed_statement_lists_what_changed_the_credit_and_the_period_of_a_fee(admin, account, clock):
    clock.set("2026-11-01T09:00:00Z")
    fee = {"fee_amount": Decimal(30), "fee_currency": "EUR", "fee_every": "month"}
    factories.license(account, "org_acme", **fee, starts_at=clock.now)
    made = Wallet.objects.get(pk=factories.wallet(account, "EUR", "3", requester_id="org_acme")["wallet"])
    add_grant(made, {"amount": Decimal(150), "kind": "paid", "expires_at": clock.now + timedelta(days=20)})
    add_grant(made, {"amount": Decimal(9), "kind": "paid", "expires_at": datetime(2026, 12, 1, tzinfo=UTC)})
    clock.set("2026-11-29T09:00:00Z")
    factories.wallet(account, "EUR", "5")
    add_grant(made, {"amount": Decimal(7), "kind": "promotional", "external_id": "spring"})
    [statement] = Statement.objects.filter(requester__requester_id="org_acme")
    for address in (reverse("admin:analytics_statement_print_page", args=[statement.pk]), change_url(statement)):
        html = " ".join(re.sub(r"<[^>]+>", " ", html_of(admin, address)).split())
        for row in (
            "2026-11-01 Fee (commercial) 2026-11-01 to 2026-11-30 lic_",
            "2026-11-01 Paid credit 2026-11-21 150.00 EUR",
            "2026-11-01 Paid credit 2026-11-30 9.00 EUR",
            "2026-11-21 Expired: paid credit -150.00 EUR",
            "2026-11-29 Promotional credit spring 7.00 EUR",
        ):
            assert row in html, (row, html)
    assert "Printed2026-11-29" in strip_tags(html_of(admin, reverse(PRINT, args=[statement.pk])))


def test_expired_credit_of_money_is_listed_also_of_who_owes_or_is_refilled(admin, api, account, clock):
    """They are not among those who paid in advance beyond their credit."""
    clock.set("2026-01-20T12:00:00Z")
    wallets = {}
    for own_id, fields in {
        "org_debtor": {"unit": "EUR"},
        "org_quota": {"unit": "EUR", "refill": {"amount": 20, "every": "month", "anchor": "2026-01-01T00:00:00Z"}},
        "org_accesses": {"unit": "access", "refill": {"amount": 20, "every": "month"}},
        "org_kept": {"unit": "EUR"},
    }.items():
        factories.requester(account, requester_id=own_id)
        wallets[own_id] = api.post("/v1/wallets", {"requesterId": own_id, **fields})["id"]
    api.post("/v1/payments", {"requesterId": "org_debtor", "amount": 10, "currency": "EUR"})
    api.post(f"/v1/wallets/{wallets['org_debtor']}/grants", {"amount": 10, "expiresAt": "2026-02-10T00:00:00Z"})
    api.post("/v1/revenue", {"requesterId": "org_debtor", "amount": 15, "currency": "EUR"})
    api.post(f"/v1/wallets/{wallets['org_kept']}/grants", {"amount": 10})
    clock.set("2026-02-20T12:00:00Z")
    listed = {"month": "2026-02", "credit": "expired"}
    assert "org_debtor" in html_of(admin, LIST, **listed)
    file = list(csv.DictReader(admin.get(EXPORT, listed).getvalue().decode("utf-8-sig").splitlines()))
    assert {row["requesterId"]: row["credits.expired"] for row in file} == {"org_debtor": "10", "org_quota": "20"}
    assert "org_debtor" not in html_of(admin, LIST, credit="expired", month="2026-01")
    printed = strip_tags(html_of(admin, PRINT_ALL, **listed))
    assert "Expired: paid credit" in printed
    assert "Expired: refill" in printed


def test_a_merge_is_a_transfer_on_both_statements_and_no_payment_that_the_bank_has(admin, api, account):
    for org, credit in (("org_prepaid", "47.5"), ("org_whole", "1")):
        factories.wallet(
            account, "EUR", credit, requester_id=factories.requester(account, requester_id=org).requester_id
        )
    factories.payment(account, "40", requester_id="org_prepaid", currency="EUR")
    api.post("/v1/requesters/org_prepaid/merge", {"into": "org_whole"})

    def printed(org):
        [statement] = Statement.objects.filter(requester__requester_id=org)
        return " ".join(re.sub(r"<[^>]+>", " ", html_of(admin, reverse(PRINT, args=[statement.pk]))).split())

    left = printed("org_prepaid")
    for row in (
        "Granted 47.50 EUR",
        "Moved by a merge -47.50 EUR",
        "Transfer to another customer, with the credit that it paid for pay_",
    ):
        assert row in left, row
    joined = printed("org_whole")
    for row in ("Granted 1.00 EUR", "Moved by a merge 47.50 EUR", "Transfer from another customer"):
        assert row in joined, row
    payments = html_of(admin, reverse("admin:analytics_payment_changelist"))
    assert payments.count("transfer") == 2
    whole = Requester.objects.get(requester_id="org_whole")
    assert re.search(r"Last payment</dt>\s*<dd[^>]*>none<", html_of(admin, change_url(whole)))


def test_a_printed_statement_has_the_addresses_of_both_as_the_admin_has_them(admin, account, booked):
    ours, theirs = "Quay 1\r\n20457 Hamburg\r\nDE123", "Rue <b> 2\r\nFR99"
    assert open_form(admin, change_url(account))(address=ours).status_code == 302
    customer = Requester.objects.get(requester_id="org")
    edit = reverse("admin:licensing_requester_edit", args=[customer.pk])
    assert open_form(admin, edit)(address=theirs).status_code == 302
    customer.refresh_from_db()
    assert customer.metadata == {"address": "Rue <b> 2\nFR99"}
    one = Statement.objects.get(closed_at=None)
    html = html_of(admin, reverse(PRINT, args=[one.pk]))
    assert "Quay 1<br>20457 Hamburg<br>DE123" in html
    assert "Rue &lt;b&gt; 2<br>FR99" in html
    assert open_form(admin, edit)(address="").status_code == 302
    customer.refresh_from_db()
    assert customer.metadata == {}


def test_the_file_of_a_statement_adds_up_from_its_opening_to_its_closing_balance(admin, account, booked):
    paid = factories.payment(account, 40, requester_id="org", currency="USD", now=FEBRUARY, external_id="bank-1")
    factories.payment(account, 9, requester_id="org", currency="USD", now=FEBRUARY, kind="payout")
    void_payment(factories.payment(account, 5, requester_id="org", currency="USD", now=FEBRUARY), "Returned")
    factories.wallet(account, "access", "28", requester_id="org")

    def rows(statement):
        body = admin.get(reverse("admin:analytics_statement_export_lines", args=[statement.pk])).getvalue()
        return list(csv.DictReader(body.decode("utf-8-sig").splitlines()))

    february = Statement.objects.get(closed_at=None, currency="USD", month="2026-02-01")
    exported = rows(february)
    assert [(row["type"], row["amount"], row["balance"]) for row in exported] == [
        ("opening", "100.1", "100.1"),
        ("adjustment", "-30", "70.1"),
        ("payment", "-40", "30.1"),
        ("payout", "9", "39.1"),
        ("payment", "-5", "34.1"),
    ]
    assert (exported[2]["id"], exported[2]["externalId"]) == (paid.pk, "bank-1")
    assert february.closing == Decimal("34.1")
    voided, quota = Statement.objects.filter(closed_at=None).exclude(pk=february.pk).order_by("currency")
    assert [(row["type"], row["amount"]) for row in rows(voided)] == [("opening", "34.1"), ("void", "5")]
    assert [(row["type"], row["balance"]) for row in rows(quota)][-1] == ("refunded", "28")


def test_a_closed_statement_keeps_the_addresses_that_it_had(admin, account, booked):
    edit = reverse("admin:licensing_requester_edit", args=[Requester.objects.get(requester_id="org").pk])
    closed = Statement.objects.get(closed_at__isnull=False)
    now = Statement.objects.get(closed_at=None)

    def move(ours, theirs):
        assert open_form(admin, change_url(account))(address=ours).status_code == 302
        assert open_form(admin, edit)(address=theirs).status_code == 302

    def printed(statement):
        return re.findall(r"Quay \d|Rue \d", html_of(admin, reverse(PRINT, args=[statement.pk])))

    move("Quay 1", "Rue 1")
    assert printed(closed) == ["Quay 1", "Rue 1"]  # the first ones: it had none
    move("Quay 2", "Rue 2")
    move("", "Rue 3")
    assert printed(closed) == ["Quay 1", "Rue 1"]
    assert printed(now) == ["Rue 3"]


def cells(html):
    """Return the statement lines as rows of cell texts."""
    body = html[html.index("<h2>Lines</h2>") :]
    rows = re.findall(r"<tr>\s*(<td.*?)</tr>", body, re.S)
    return [
        [unescape(strip_tags(cell)).strip() for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)] for row in rows
    ]


def test_a_line_names_what_it_is_about_and_no_dash_stands_before_an_amount(admin, account):
    org = ledger.requester(account)
    item = factories.content(account, title="Herrings")
    held = factories.license(account, "org", price_amount=Decimal(100), price_currency="EUR")
    about = {"requester": org, "currency": "EUR"}
    ledger.add(account, "0.05", type="usage", content=item, license_type="press", **about)
    ledger.add(account, "-1200", description="Settled", **about)
    html = html_of(admin, reverse("admin:analytics_statement_print_page", args=[Statement.objects.get().pk]))
    shown = {(about, decisions, amount) for _, _, about, decisions, amount in cells(html)}
    assert shown == {
        (f"Licence of type commercial{held.pk}", "", "100.00"),
        (f"Herrings{item.pk}", "1", "0.05"),
        ("Settled", "", "-1,200.00"),
    }


def test_the_list_and_the_lines_of_one_are_exported_and_need_their_own_permission(
    admin, booked, sign_in, staff, account
):
    one = Statement.objects.get(closed_at__isnull=False)
    listed = admin.get(reverse("admin:analytics_statement_export_items")).getvalue().decode("utf-8-sig")
    assert [row["closing"] for row in csv.DictReader(listed.splitlines())] == ["70.1", "100.1"]
    lines = admin.get(reverse("admin:analytics_statement_export_lines", args=[one.pk])).getvalue().decode("utf-8-sig")
    assert sorted(row["amount"] for row in csv.DictReader(lines.splitlines())) == ["0", "0.1", "100"]

    assert sign_in(staff("analytics.view_ledgerentry", accounts=[account])).get(LIST).status_code == 403

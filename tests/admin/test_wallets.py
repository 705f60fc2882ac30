import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import BalanceChange, Grant, LedgerEntry, Payment, Statement, Wallet
from analytics.payments.services import move_prepayment, void_payment
from analytics.wallets.forecast import forecast
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from tests import factories
from tests.admin.forms import confirmed, form_values, html_of, submit, top_up
from tests.admin.markup import words_of

ADD = reverse("admin:analytics_wallet_add")
PAY = reverse("admin:analytics_payment_add")
RECORD_AGAIN = "Record it correctly"


def act(client, made, action, **fields):
    return submit(client, reverse(f"admin:analytics_wallet_{action}", args=[made.pk]), **fields)


@pytest.mark.parametrize("number", ["", "transfer-9"])
def test_voiding_a_payment_takes_back_the_credit_that_it_paid_for(admin, api, customer, number):
    top_up(admin, customer, wallet="EUR", amount="80", external_id=number)
    top_up(admin, customer, wallet="access", amount="50", price="5", currency="EUR")
    for payment in Payment.objects.all():
        button = reverse("admin:analytics_payment_void", args=[payment.pk])
        html = admin.get(button).content.decode()
        assert f"{'50 accesses' if payment.grant_id else '80.00 EUR'} are left of the credit" in html
        assert submit(admin, button, reason="Returned by the bank").status_code == 302
    assert {wallet.balance for wallet in Wallet.objects.all()} == {0}
    top_up(admin, customer, wallet="EUR", amount="7")
    kept = reverse("admin:analytics_payment_void", args=[Payment.objects.get(voided_at=None, reverses=None).pk])
    admin.post(kept, {"reason": "Paid in cash"})
    assert Wallet.objects.get(unit="EUR").balance == 7


def test_an_operator_opens_a_quota_that_comes_each_month(admin, account, customer):
    terms = {"own_unit": "USD", "refill_amount": "200", "refill_every": "month", "overdraft": "50"}
    confirmed(admin, submit(admin, ADD, account=account.pk, requester_own_id="org_acme", **terms))
    made = Wallet.objects.get()
    assert (made.balance, made.floor, made.refill_every) == (200, -50, "month")
    assert "250.00 USD left, 50.00 USD of it below 0" in admin.get(change_url(made)).content.decode()
    terms = admin.get(reverse("admin:analytics_wallet_change_terms", args=[made.pk])).content.decode()
    assert "applies from the next refill on" in terms
    assert "comes at once" not in terms


def test_an_overdrawn_wallet_shows_its_credit_below_0(admin, wallet):
    Wallet.objects.filter(pk=wallet.pk).update(balance=Decimal(-3), floor=Decimal(-5))
    assert "2.00 USD left, 2.00 USD of it below 0" in admin.get(change_url(wallet)).content.decode()


def test_an_operator_opens_a_wallet_of_accesses_and_invalid_ones_are_refused(admin, account, customer):
    reply = submit(admin, ADD, account=account.pk, requester_own_id="nobody", own_unit="USD")
    assert "There is no customer" in reply.content.decode()
    reply = submit(admin, ADD, account=account.pk, requester_own_id="org_acme", own_unit="USD", refill_amount="5")
    assert reply.status_code == 200
    assert not Wallet.objects.exists()

    terms = {"own_unit": "access", "low_percent": "10"}
    reply = confirmed(admin, submit(admin, ADD, account=account.pk, requester_own_id="org_acme", **terms))
    assert reply.status_code == 302, reply.content.decode()
    made = Wallet.objects.get()
    assert (made.requester, made.unit, made.balance) == (customer, "access", 0)
    assert made.thresholds == [{"percent": 10}]


def test_top_ups_count_once_for_each_number_and_form(admin, wallet):
    def balance():
        wallet.refresh_from_db()
        return wallet.balance

    for status in (302, 200):  # the second one is refused
        reply = act(admin, wallet, "top_up", amount="5.50", payment="recorded", external_id="order-7", confirmed="1")
        assert (reply.status_code, balance()) == (status, Decimal("15.5"))
    assert Grant.objects.filter(external_id="order-7").count() == 1
    address = reverse("admin:analytics_wallet_top_up", args=[wallet.pk])
    opened = form_values(admin.get(address).content.decode())
    for said in ("5.50 USD added.", "The form was sent twice. 5.50 USD added, once."):
        admin.post(address, {**opened, "amount": "5.50", "payment": "recorded", "confirmed": "1"})
        assert said in admin.get(change_url(wallet)).content.decode()
        assert balance() == 21
    more = act(admin, wallet, "top_up", amount="5.50", payment="recorded", confirmed="1")
    assert more.status_code == 302  # another form adds more
    assert balance() == Decimal("26.5")


def test_a_quota_that_was_changed_meanwhile_is_not_changed_back(admin, api, wallet):
    address = reverse("admin:analytics_wallet_change_terms", args=[wallet.pk])
    opened = form_values(admin.get(address).content.decode())
    api.patch(f"/v1/wallets/{wallet.pk}", {"floor": -5})
    assert "while you had it open" in admin.post(address, {**opened, "low_percent": "20"}).content.decode()
    shown = api.get(f"/v1/wallets/{wallet.pk}")
    assert (shown["floor"], shown["thresholds"]) == (-5, [])


def test_saving_a_quota_keeps_what_the_form_does_not_show(admin, api, wallet):
    several = [{"percent": 50}, {"value": 3}, {"percent": 10}]
    api.patch(f"/v1/wallets/{wallet.pk}", {"thresholds": several})
    assert act(admin, wallet, "change_terms").status_code == 302
    assert api.get(f"/v1/wallets/{wallet.pk}")["thresholds"] == several
    act(admin, wallet, "change_terms", low_percent="40")
    assert api.get(f"/v1/wallets/{wallet.pk}")["thresholds"] == [{"percent": 40}, *several[1:]]

    api.patch(f"/v1/wallets/{wallet.pk}", {"thresholds": [{"value": 3}, {"percent": 5}]})
    terms = {"refill_amount": "7", "refill_every": "week", "rollover_max": "2", "overdraft": "1", "low_percent": "20"}
    assert act(admin, wallet, "change_terms", **terms).status_code == 302
    shown = api.get(f"/v1/wallets/{wallet.pk}")
    assert (shown["balance"], shown["floor"]) == (17, -1)
    assert shown["thresholds"] == [{"value": 3}, {"percent": 20}]
    assert (shown["refill"]["amount"], shown["refill"]["rollover"]) == (7, {"min": 0, "max": 2})
    assert act(admin, wallet, "change_terms", refill_amount="", refill_every="").status_code == 302
    assert api.get(f"/v1/wallets/{wallet.pk}")["refill"] is None


def test_an_operator_records_a_payment_once(admin, account, customer):
    fields = {"account": account.pk, "requester_own_id": "org_acme", "amount": "12.50", "currency": "USD"}
    assert "Record 12.50 USD" in submit(admin, PAY, **fields, external_id="inv-1").content.decode()
    assert not Payment.objects.exists()
    submit(admin, PAY, **fields, external_id="inv-1", confirmed="1")
    payment = Payment.objects.get()
    assert (payment.amount, payment.external_id) == (Decimal("12.5"), "inv-1")
    again = submit(admin, PAY, **fields, external_id="inv-1", confirmed="1").content.decode()
    assert re.search(
        rf'recorded before: <a [^>]*href="{change_url(payment)}">12.50 USD</a>, created by staff\d+ ', again
    )
    assert "12.50 USD" in admin.get(change_url(payment)).content.decode()
    submit(admin, reverse("admin:analytics_payment_void", args=[payment.pk]), reason="Typing error")
    assert "void payment" in admin.get(change_url(payment)).content.decode()
    for amount in ("12.50", "1.25"):
        again = submit(admin, PAY, **{**fields, "amount": amount}, external_id="inv-1", confirmed="1")
        assert "That payment is void" in again.content.decode()


def test_a_payment_that_no_bank_transfers_is_asked_about(admin, account, customer):
    given = {"account": account.pk, "requester_own_id": "org_acme"}
    for amount, currency, question in (
        ("1234.5", "JPY", "No bank transfers 1,234.5 JPY. Rounded it is 1,234 JPY."),
        ("10.0050", "EUR", "No bank transfers 10.005 EUR. Rounded it is 10.00 EUR."),
        ("10.05", "EUR", None),
    ):
        asked = submit(admin, PAY, **given, amount=amount, currency=currency).content.decode()
        assert f"from {customer}?" in asked
        assert ("No bank transfers" in asked) == (question is not None)
        assert question is None or question in asked


def test_a_payment_says_that_credit_stays_below_0(admin, account, api):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    factories.license(account, per_access="20")
    factories.wallet(account, "USD", 5, requester_id="org_acme", floor=Decimal(-50))
    given = {"account": account.pk, "requester_own_id": "org_acme", "amount": "20", "currency": "USD"}
    for expected in (False, True):
        if expected:
            assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})["allowed"]
        asked = submit(admin, PAY, **given).content.decode()
        assert "Record 20.00 USD from org_acme?" in asked
        assert ("Credit stays 15.00 USD below 0." in asked) == expected


def test_a_payment_of_an_unknown_customer_says_where_to_add_it(admin, account):
    fields = {"account": account.pk, "requester_own_id": "nobody", "amount": "1", "currency": "EUR"}
    said = submit(admin, PAY, **fields).content.decode()
    assert "There is no customer &#x27;nobody&#x27;. Add it: Customers, Add customer." in said


def test_a_payment_has_the_date_of_the_bank_without_a_time(admin, account, customer):
    sent = {"requester_own_id": "org_acme", "amount": "12,50", "currency": "USD", "received_at_0": "20.02.2026"}
    reply = submit(admin, PAY, account=account.pk, **sent)
    confirmed(admin, reply)
    assert Payment.objects.get().received_at.isoformat() == "2026-02-20T00:00:00+00:00"


def test_the_projected_end_follows_from_the_spending(api, account, clock):
    factories.license(account, per_access="0.05")
    made = Wallet.objects.get(pk=factories.wallet(account, amount="1", requester_id="org_acme")["wallet"])
    item = factories.content(account, policy_id=factories.policy(account).pk)
    for _ in range(5):
        clock.now += timedelta(days=1)
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    made.refresh_from_db()
    shown = forecast(made, timezone.now())
    balances = [balance for _, balance in shown.balances]
    assert balances == [Decimal(text) for text in ("1", "0.95", "0.9", "0.85", "0.8", "0.75")]
    assert shown.spent_daily == Decimal("0.25") / 6
    assert (shown.ends - clock.now.date()).days == 18
    assert shown.projected[-1][1] == 0


def test_pages_show_what_is_due_now(admin, account, customer, api):
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access"})["id"]
    assert "0 accesses" in admin.get(reverse("admin:analytics_wallet_changelist")).content.decode()
    assert "Nothing was spent" in admin.get(change_url(Wallet.objects.get(pk=made))).content.decode()


def test_an_operator_records_a_payout(admin, account):
    customer = factories.requester(account).requester_id
    address = admin.get(reverse("admin:analytics_payment_payout"))["Location"]
    values = {"account": account.pk, "requester_own_id": customer, "currency": "EUR"}
    refused = submit(admin, address, **values, amount="-49,40")
    assert "For money that you gave back, choose a payout." in refused.content.decode()
    asked = submit(admin, address, **values, amount="49,40")
    assert f"{customer} owes 49.40 EUR more" in asked.content.decode()
    assert confirmed(admin, asked).status_code == 302
    payment = Payment.objects.get()
    assert (payment.kind, payment.amount) == ("payout", Decimal("49.40"))


def test_a_payout_warns_of_what_it_exceeds_and_of_credit_that_stays(admin, account, customer):
    top_up(admin, customer, wallet="EUR", amount="100")
    form = admin.get(reverse("admin:licensing_requester_record_payment", args=[customer.pk]))["Location"]
    assert "currency=EUR" in form  # in which the customer has paid in advance
    values = {"account": account.pk, "requester_own_id": customer.requester_id, "currency": "EUR", "kind": "payout"}
    for amount, exceeds in (("100", False), ("100.01", True)):
        asked = submit(admin, PAY, **values, amount=amount).content.decode()
        assert ("more than was paid in advance" in asked) is exceeds
        assert "100.00 EUR of credit stay in its wallets" in asked
    assert "Its balance is then: 0.01 EUR owed." in asked


def test_a_payout_warns_of_money_that_was_never_paid(admin, account, customer):
    top_up(admin, customer, wallet="EUR", amount="40", payment="gift")
    factories.payment(account, 10, requester_id=customer.requester_id, currency="EUR")
    values = {"account": account.pk, "requester_own_id": customer.requester_id, "currency": "EUR", "kind": "payout"}
    asked = submit(admin, PAY, **values, amount="50").content.decode()
    assert "40.00 EUR of it were never paid: they are from refunds, such as for a gift of credit." in asked
    assert "never paid" not in submit(admin, PAY, **values, amount="10").content.decode()


def test_payments_and_entries_are_found_by_the_publishers_own_number_and_filtered_by_kind(admin, account):
    factories.payment(account, 7, external_id="bank-2")
    factories.payment(account, 8, external_id="bank-3", kind="payout")
    void_payment(factories.payment(account, 9), "Typing error")
    sold = {"amount": "5", "currency": "EUR", "description": "Sale", "external_id": "RE-7"}
    confirmed(admin, submit(admin, reverse("admin:analytics_ledgerentry_add"), account=account.pk, **sold))

    def amounts(model, **query):
        return [one.amount for one in admin.get(list_url(model, **query)).context["cl"].result_list]

    assert amounts(Payment, q="bank-2") == [7]
    assert amounts(Payment, q="bank") == []
    assert amounts(LedgerEntry, q="RE-7") == [5]
    assert [amounts(Payment, kind=kind) for kind in ("payment", "credit", "payout", "void")] == [[7], [], [8], [9]]
    assert [amounts(Payment, booked_in=period) for period in ("2020-01", "this_month")] == [[], [9, 8, 7]]
    page = " ".join(strip_tags(admin.get(list_url(Payment)).content.decode()).split())
    assert "Your own number" in page
    assert "Total of these payments, less payouts and without void ones: -1.00 USD." in page


def test_a_chargeback_after_a_merge_takes_the_money_back_with_the_credit(admin, account, api):
    for org, amount in (("org_x", "100"), ("org_y", "40")):
        customer = factories.license(account, org, per_access="3").requester
        assert top_up(admin, customer, wallet="USD", amount=amount, external_id=org).status_code == 302
    item = factories.content(account, policy_id=factories.policy(account).pk)
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_x"})["allowed"]
    api.post("/v1/requesters/org_x/merge", {"into": "org_y"})
    button = reverse("admin:analytics_payment_void", args=[Payment.objects.get(external_id="org_x").pk])
    assert "97.00 USD that the merge transferred with them go back to org_x, too." in html_of(admin, button)
    assert submit(admin, button, reason="Returned").status_code == 302
    owed = BalanceChange.objects.values_list("requester__requester_id").annotate(Sum("owed"), Sum("credit"))
    assert sorted(owed.filter(currency="USD")) == [("org_x", 3, 0), ("org_y", -40, 40)]


def test_a_chargeback_after_merges_undoes_their_transfers_although_the_other_customers_owe_money(admin, account, api):
    for org, price in (("org_x", 20), ("org_y", 100), ("org_z", 7)):
        factories.license(account, org, price_amount=Decimal(price), price_currency="USD")
    for org, amount in (("org_x", "50"), ("org_z", "9")):
        customer = Requester.objects.get(requester_id=org)
        assert top_up(admin, customer, wallet="USD", amount=amount, external_id=org).status_code == 302
    for org, into in (("org_x", "org_y"), ("org_y", "org_z")):
        api.post(f"/v1/requesters/{org}/merge", {"into": into})
    button = reverse("admin:analytics_payment_void", args=[Payment.objects.get(external_id="org_x").pk])
    assert "30.00 USD that the merge transferred with them go back to org_x, too." in html_of(admin, button)
    assert submit(admin, button, reason="Returned").status_code == 302
    owed = BalanceChange.objects.values_list("requester__requester_id").annotate(Sum("owed"), Sum("credit"))
    assert sorted(owed.filter(currency="USD")) == [("org_x", 20, 0), ("org_y", 100, 0), ("org_z", -2, 9)]


def test_a_void_payment_for_accesses_returns_no_money_that_a_merge_moved(admin, account, api):
    for org in ("org_x", "org_y"):
        factories.license(account, org, per_access="1")
    customer = Requester.objects.get(requester_id="org_x")
    assert top_up(admin, customer, wallet="EUR", amount="50").status_code == 302
    assert top_up(admin, customer, wallet="access", amount="9", price="5", currency="EUR").status_code == 302
    api.post("/v1/requesters/org_x/merge", {"into": "org_y"})
    payment = Payment.objects.exclude(grant=None).get()
    button = reverse("admin:analytics_payment_void", args=[payment.pk])
    page = html_of(admin, button)
    assert "org_y has them since the merge." in page
    assert "transferred" not in page
    assert submit(admin, button, reason="Returned").status_code == 302
    assert RECORD_AGAIN not in html_of(admin, change_url(payment))
    owed = BalanceChange.objects.values_list("requester__requester_id").annotate(Sum("owed"))
    assert sorted(owed.filter(currency="EUR")) == [("org_x", 0), ("org_y", -50)]


def test_the_halves_of_a_transfer_are_void_together_and_cannot_be_forged(admin, account, api):
    source, target = (Requester.objects.create(account=account, requester_id=name) for name in ("org_x", "org_y"))
    factories.payment(account, 50, requester_id="org_x", currency="EUR")
    move_prepayment(account.pk, source.pk, target.pk, "EUR", Decimal(30))
    payout, payment = Payment.objects.order_by("pk")[1:]
    assert [payout.external_id, payment.external_id] == [payment.pk, payout.pk]
    button = reverse("admin:analytics_payment_void", args=[payment.pk])
    assert "The other half is void, too." in admin.get(button).content.decode()
    assert submit(admin, button, reason="Undone").status_code == 302
    assert RECORD_AGAIN not in html_of(admin, change_url(payment))
    assert not Payment.objects.filter(reverses=None, voided_at=None, requester=target).exists()
    assert Payment.objects.get(pk=payout.pk).voided_at is not None
    forged = {"requesterId": "org_y", "amount": 1, "currency": "EUR", "externalId": payout.pk}
    assert api.post("/v1/payments", forged).error["param"] == "externalId"


def test_an_operator_voids_a_payment_once(admin, account):
    payment = factories.payment(account, 500)
    button = reverse("admin:analytics_payment_void", args=[payment.pk])
    assert button in admin.get(change_url(payment)).content.decode()
    assert "owes 500.00 USD more" in admin.get(button).content.decode()
    assert submit(admin, button, reason="Typing error").status_code == 302
    payment.refresh_from_db()
    assert payment.void_reason == "Typing error"
    page = admin.get(change_url(payment)).content.decode()
    assert "Typing error" in page
    assert button not in page
    [statement] = Statement.objects.all()
    printed = admin.get(reverse("admin:analytics_statement_print_page", args=[statement.pk])).content.decode()
    received = f"{payment.received_at:%Y-%m-%d}"
    for row in (f"<td>{received}</td><td>Payment</td>", f"Void of the payment of {received}: Typing error", "-500.00"):
        assert row in printed


@pytest.mark.parametrize("kind", ["payment", "payout"])
def test_a_void_payment_is_recorded_correctly_in_a_form_that_begins_with_it(admin, account, kind):
    received = datetime(2026, 3, 5, 14, 30, tzinfo=UTC)
    payment = factories.payment(account, "1250.5", kind=kind, external_id="bank-1", received_at=received)
    button = reverse("admin:analytics_payment_record_correctly", args=[payment.pk])
    assert button not in html_of(admin, change_url(payment))
    void_payment(payment, "Typing error")
    assert RECORD_AGAIN in html_of(admin, change_url(payment))
    values = form_values(admin.get(button, follow=True).text)
    named = {name: values[name][0] for name in ("requester_own_id", "kind", "amount", "currency", "external_id")}
    assert named == {
        "requester_own_id": payment.requester.requester_id,
        "kind": kind,
        "amount": "1250.5",
        "currency": "USD",
        "external_id": "",
    }
    assert (values["received_at_0"], values["received_at_1"]) == (["2026-03-05"], ["14:30:00"])
    assert confirmed(admin, submit(admin, admin.get(button).url, amount="1205.50")).status_code == 302
    again = Payment.objects.get(voided_at=None, reverses=None)
    assert (again.amount, again.received_at, again.kind) == (Decimal("1205.50"), received, kind)


def test_two_operators_who_book_the_same_at_once_are_told_of_each_other(admin, sign_in, staff, account, customer):
    clara = sign_in(staff(is_superuser=True, first_name="Clara"))
    given = {"account": account.pk, "amount": "9", "currency": "USD"}
    topped_up = reverse("admin:licensing_requester_top_up", args=[customer.pk])
    for address, fields in (
        (PAY, {**given, "requester_own_id": "org_acme"}),
        (reverse("admin:analytics_ledgerentry_add"), {**given, "of_requester": "org_acme", "description": "Fair"}),
        (topped_up, {"wallet": "USD", "amount": "9"}),
    ):
        mine, theirs = submit(admin, address, **fields), submit(clara, address, **fields)
        assert confirmed(clara, theirs).status_code == 302
        refused = confirmed(admin, mine)
        said = " ".join(strip_tags(refused.content.decode()).split())
        assert re.search(
            r"Nothing was saved, because the balance changed meanwhile: 9.00 USD[^,]*, created by staff", said
        )
        again = submit(admin, address, **fields)
        assert confirmed(admin, again).status_code == 302, address
    assert (Payment.objects.count(), LedgerEntry.objects.count(), Grant.objects.count()) == (4, 2, 2)


def test_charges_of_checks_do_not_stop_a_payment(admin, api, account, customer):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    paid = {"account": account.pk, "requester_own_id": "org_acme", "amount": "9", "currency": "USD"}
    asked = submit(admin, PAY, **paid)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert confirmed(admin, asked).status_code == 302


def test_the_forms_of_payments_begin_with_the_customer_whose_payments_are_listed(admin, account, customer):
    top_up(admin, customer, wallet="EUR", amount="80")
    page = admin.get(list_url(Payment, requester__id__exact=str(customer.pk)))
    [payout] = [one["path"] for one in page.context_data["actions_list"] if "/payout/" in one["path"]]
    given = form_values(admin.get(payout, follow=True).content.decode())
    named = [given[name] for name in ("account", "requester_own_id", "kind", "amount", "currency")]
    assert named == [[account.pk], ["org_acme"], ["payout"], ["80"], ["EUR"]]
    [add] = set(re.findall(rf'href="({PAY}[^"]*)"', page.content.decode()))
    given = form_values(admin.get(add.replace("&amp;", "&")).content.decode())
    assert (given["requester_own_id"], given["kind"], given["amount"]) == (["org_acme"], ["payment"], [""])
    unknown = f"{PAY}?_changelist_filters=requester__id__exact%3D{'9' * 30}"
    assert form_values(admin.get(unknown).content.decode())["requester_own_id"] == [""]


def test_a_payment_that_somebody_else_has_voided_says_who(admin, account, customer):
    payment = factories.payment(account, 5, requester_id="org_acme")
    button = reverse("admin:analytics_payment_void", args=[payment.pk])
    opened = form_values(admin.get(button).content.decode())
    submit(admin, button, reason="Typing error")
    for send, fields in ((admin.post, {**opened, "reason": "Again"}), (admin.get, {})):
        assert send(button, fields)["Location"] == change_url(payment)
        said = " ".join(strip_tags(admin.get(change_url(payment)).content.decode()).split())
        assert re.search(r"It is void already: 5.00 USD, voided by staff\d+ ", said)
    assert re.search(r"voided by staff\d+ [\d: -]+: Typing error", said)
    assert Payment.objects.count() == 2


def test_voiding_the_payment_of_credit_says_which_refunds_stay(admin, api, account, customer):
    top_up(admin, customer, wallet="USD", amount="5")
    item = factories.content(account, policy_id=factories.policy(account).pk)
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})["id"]
    button = reverse("admin:analytics_payment_void", args=[Payment.objects.get().pk])
    assert "of refunds" not in admin.get(button).content.decode()
    api.post("/v1/refunds", {"decisionId": decision, "amount": "0.03"})
    said = admin.get(button).content.decode()
    assert "4.95 USD are left of the credit that it paid for." in strip_tags(said)
    assert "0.03 USD of refunds stay as credit in its wallet, also if this payment had paid for them." in strip_tags(
        said
    )
    assert change_url(Wallet.objects.get()) in said


def test_the_page_of_a_payment_says_its_kind_what_it_paid_for_and_whether_it_is_void(admin, account):
    valid, void = factories.payment(account, 500), factories.payment(account, 400)
    void_payment(void, "Typing error")
    for payment, kind, voided in ((valid, "payment", "Voided no"), (void, "void payment", "Typing error")):
        shown = " ".join(words_of(html_of(admin, change_url(payment))).split())
        assert f"Kind {kind} Amount" in shown
        assert "Paid for charges" in shown
        assert voided in shown

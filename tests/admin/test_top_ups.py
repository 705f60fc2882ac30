from datetime import timedelta
from decimal import Decimal

from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import Grant, LedgerEntry, Payment, Statement, Wallet
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from tests import factories
from tests.admin.forms import confirmed, form_values, submit, top_up


def test_a_top_up_is_asked_about_before_anything_is_recorded(admin, customer):
    address = reverse("admin:licensing_requester_top_up", args=[customer.pk])
    asked = submit(admin, address, wallet="EUR", amount="100")
    text = " ".join(strip_tags(asked.content.decode()).split())
    assert f"Add 100.00 EUR for {customer}?" in text
    assert "A payment of 100.00 EUR is recorded." in text
    assert not Wallet.objects.exists()
    assert not Payment.objects.exists()
    again = admin.post(address, {**form_values(asked.content.decode()), "_edit": "back"})
    assert form_values(again.content.decode())["amount"] == ["100"]
    assert confirmed(admin, asked)["Location"] == change_url(customer)
    assert (Wallet.objects.get().balance, Payment.objects.get().amount) == (100, 100)


def test_credit_in_money_and_its_payment_are_recorded_in_one_step(admin, customer):
    address = reverse("admin:licensing_requester_top_up", args=[customer.pk])
    opened = form_values(admin.get(address).content.decode())
    assert opened["currency"] == ["USD"]
    for said in ("100.00 EUR added, and a payment of 100.00 EUR recorded.", "The form was sent twice."):
        sent = {"wallet": "EUR", "amount": "100", "external_id": "transfer-7", "confirmed": "1"}
        reply = admin.post(address, {**opened, **sent})
        assert reply["Location"] == change_url(customer)
        assert said in admin.get(change_url(customer)).content.decode()
    [wallet], [payment], [statement] = Wallet.objects.all(), Payment.objects.all(), Statement.objects.all()
    assert (wallet.unit, wallet.balance) == ("EUR", 100)
    assert (payment.amount, payment.currency, payment.external_id) == (100, "EUR", "transfer-7")
    assert (statement.payments, statement.closing, statement.credit_closing) == (100, -100, 100)
    assert "100.00 EUR paid in advance" in admin.get(change_url(customer)).content.decode()
    assert top_up(admin, customer, wallet="EUR", amount="5", payment="recorded").status_code == 302
    assert Wallet.objects.get().balance == 105
    assert Payment.objects.count() == 1


def test_accesses_are_topped_up_with_what_was_paid_for_them(admin, customer):
    sold = {"wallet": "access", "amount": "10000"}
    assert "Enter what was paid for the accesses" in top_up(admin, customer, **sold).content.decode()
    assert top_up(admin, customer, **sold, price="500", currency="EUR").status_code == 302
    payment = Payment.objects.get()
    assert (payment.amount, payment.currency, payment.grant.amount) == (500, "EUR", 10_000)
    needless = top_up(admin, customer, wallet="USD", amount="5", price="5").content.decode()
    assert "Only accesses that are paid for now have a price" in needless
    assert top_up(admin, customer, wallet="access", amount="50", payment="gift").status_code == 302
    assert [grant.kind for grant in Grant.objects.order_by("created")] == ["paid", "promotional"]
    assert Payment.objects.count() == 1


def test_a_top_up_with_the_number_of_a_recorded_payment_records_no_second_one(admin, api, customer):
    paid = {"requesterId": "org_acme", "amount": 40, "currency": "USD", "externalId": "transfer-8"}
    api.post("/v1/payments", paid)
    differs = top_up(admin, customer, wallet="USD", amount="41", external_id="transfer-8")
    assert "Another payment has the number" in differs.content.decode()
    assert not Grant.objects.exists()
    address = reverse("admin:licensing_requester_top_up", args=[customer.pk])
    asked = submit(admin, address, wallet="USD", amount="40", external_id="transfer-8")
    assert "The payment transfer-8 was recorded before: no other one is." in asked.content.decode()
    assert confirmed(admin, asked).status_code == 302
    assert (Payment.objects.count(), Wallet.objects.get().balance) == (1, 40)


def test_accesses_with_the_number_of_a_recorded_payment_are_added_without_a_second_one(admin, api, customer):
    paid = {"requesterId": "org_acme", "amount": 500, "currency": "EUR", "externalId": "R-10"}
    api.post("/v1/payments", paid)
    sold = {"wallet": "access", "amount": "10000", "currency": "EUR", "external_id": "R-10"}
    differs = top_up(admin, customer, **sold, price="501")
    assert "Another payment has the number" in differs.content.decode()
    assert not Grant.objects.exists()
    address = reverse("admin:licensing_requester_top_up", args=[customer.pk])
    asked = submit(admin, address, **sold, price="500")
    assert "The payment R-10 was recorded before: no other one is." in asked.content.decode()
    assert confirmed(admin, asked).status_code == 302
    assert (Payment.objects.count(), Wallet.objects.get().balance) == (1, 10_000)


def test_the_payment_for_accesses_has_their_number(admin, api, customer):
    sold = {"wallet": "access", "amount": "10000", "price": "500", "currency": "EUR", "external_id": "R-10"}
    assert "Must be" in top_up(admin, customer, **{**sold, "price": "-500"}).content.decode()
    assert top_up(admin, customer, **sold).status_code == 302
    [payment] = api.get("/v1/payments?externalId=R-10")["data"]
    assert payment["grantId"] == Grant.objects.get().pk
    assert change_url(Payment.objects.get()) in admin.get(list_url(Payment, q="R-10")).content.decode()
    again = {"requester_own_id": "org_acme", "amount": "500", "currency": "EUR", "external_id": "R-10"}
    recorded = submit(admin, reverse("admin:analytics_payment_add"), account=customer.account_id, **again)
    assert "This number was recorded before" in recorded.content.decode()


def test_a_top_up_with_the_number_of_another_one_is_refused_with_what_that_added(admin, customer):
    top_up(admin, customer, wallet="EUR", amount="100", external_id="R-21")
    for amount in ("150", "100"):
        refused = top_up(admin, customer, wallet="EUR", amount=amount, external_id="R-21").content.decode()
        assert "R-21 was added before, with 100.00 EUR. Nothing is added now." in refused
        assert f"Add {amount}.00 EUR for" not in refused
    assert (Wallet.objects.get().balance, Payment.objects.count()) == (100, 1)


def test_a_top_up_with_the_number_of_a_void_payment_adds_nothing(admin, api, customer):
    paid = {"requesterId": "org_acme", "amount": 40, "currency": "USD", "externalId": "transfer-9"}
    payment = api.post("/v1/payments", paid)["id"]
    api.post(f"/v1/payments/{payment}/void", {"reason": "Returned"})
    refused = top_up(admin, customer, wallet="USD", amount="40", external_id="transfer-9")
    assert "That payment is void: enter another number" in refused.content.decode()
    assert not Grant.objects.exists()


def test_an_operator_who_may_not_record_payments_tops_up_without_one(staff, sign_in, account, customer):
    rights = ("licensing.view_requester", "analytics.view_wallet", "analytics.change_wallet")
    client = sign_in(staff(*rights, accounts=[account]))
    assert "valid choice" in top_up(client, customer, wallet="USD", amount="5", payment="record").content.decode()
    assert top_up(client, customer, wallet="USD", amount="5", payment="recorded").status_code == 302
    refused = top_up(client, customer, wallet="USD", amount="5", payment="gift").content.decode()
    assert "A gift of money is a credit note, too" in refused
    assert Grant.objects.count() == 1
    assert not Payment.objects.exists()


def test_what_is_spent_of_a_gift_is_not_owed(admin, api, customer):
    price = {"amount": "0.1", "currency": "EUR"}
    api.post("/v1/licenses", {"requesterId": "org_gift", "licenseType": "commercial", "pricePerAccess": price})
    address = reverse("admin:licensing_requester_top_up", args=[Requester.objects.get(requester_id="org_gift").pk])
    asked = submit(admin, address, wallet="EUR", amount="0.3", payment="gift")
    assert "A credit note of 0.30 EUR is recorded" in asked.content.decode()
    for _ in range(2):  # the second time, nothing is added
        confirmed(admin, asked)
    assert (Wallet.objects.get().balance, LedgerEntry.objects.get().amount) == (Decimal("0.3"), Decimal("-0.3"))
    rule = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["read"]}
    policy = api.post("/v1/policies", {"name": "Licensed", "rules": [rule]})["id"]
    item = api.post("/v1/content", {"title": "Item", "policyId": policy})["id"]
    for _ in range(3):
        assert api.post("/v1/access/check", {"contentId": item, "requester": "org_gift"})["allowed"]
    assert (Wallet.objects.get().balance, Statement.objects.get().closing) == (0, 0)


def test_a_top_up_proposes_the_currency_that_licences_charge_and_warns_of_others(admin, account):
    held = factories.license(account, access_amount=Decimal("0.25"), access_currency="EUR")
    address = reverse("admin:licensing_requester_top_up", args=[held.requester_id])
    assert form_values(admin.get(address).content.decode())["wallet"] == ["EUR"]
    asked = submit(admin, address, wallet="USD", amount="50", payment="recorded").content.decode()
    assert "charge accesses in EUR: credit in USD does not pay them." in asked
    assert not Grant.objects.exists()


def test_a_top_up_of_accesses_warns_of_licences_that_charge_each_of_them_too(admin, account):
    held = factories.license(account, access_amount=Decimal("0.25"), access_currency="EUR")
    factories.wallet(account, "access", requester_id="org_acme")
    charged_too = "charge accesses in EUR: each access spends one access and is charged, too."
    for requester, is_charged in ((held.requester, True), (factories.requester(account), False)):
        address = reverse("admin:licensing_requester_top_up", args=[requester.pk])
        asked = submit(admin, address, wallet="access", amount="500", price="25", currency="EUR").content.decode()
        assert f"Add 500 accesses for {requester}?" in asked
        assert (charged_too in asked) == is_charged
    assert not Payment.objects.exists()
    free = factories.license(account)
    own = factories.wallet(account, "access", requester_id="org_acme", license_id=free.pk)["wallet"]
    address = reverse("admin:analytics_wallet_top_up", args=[own])
    asked = submit(admin, address, amount="500", price="25", currency="EUR").content.decode()
    assert f"Add 500 accesses for {held.requester}?" in asked
    assert charged_too not in asked


def test_the_first_top_up_of_a_customer_that_is_billed_afterwards_says_that_this_ends(admin, account):
    held = factories.license(account, access_amount=Decimal("1.1"), access_currency="EUR")
    address = reverse("admin:licensing_requester_top_up", args=[held.requester_id])
    ends = (
        "Accesses of org_acme are billed afterwards today. From then on they are paid from its credit, and denied "
        "once it is used up."
    )
    for payment in ("record", "gift"):
        asked = submit(admin, address, wallet="EUR", amount="2", payment=payment)
        assert ends in asked.content.decode()
    assert "May go below 0 by" in asked.content.decode()
    confirmed(admin, asked)
    assert ends not in submit(admin, address, wallet="EUR", amount="2").content.decode()


def test_a_licence_with_credit_of_its_own_is_not_billed_afterwards(admin, account):
    held = factories.license(account, per_access="1.1")
    factories.wallet(account, "USD", requester_id="org_acme", license_id=held.pk)
    address = reverse("admin:licensing_requester_top_up", args=[held.requester_id])
    for days, is_billed in ((-1, False), (1, True)):
        now = timezone.now()
        factories.license(account, per_access="2", starts_at=now - timedelta(days=9), expires_at=now + timedelta(days))
        asked = submit(admin, address, wallet="USD", amount="2", payment="recorded").content.decode()
        assert ("billed afterwards today" in asked) == is_billed


def test_credit_that_was_added_by_mistake_is_taken_back_with_what_is_left_of_it(admin, api, wallet):
    api.post(f"/v1/wallets/{wallet.pk}/grants", {"amount": "2.5", "kind": "promotional", "externalId": "spring"})
    address = reverse("admin:analytics_wallet_take_back", args=[wallet.pk])
    shown = admin.get(address).content.decode()
    assert "2.50 USD left of 2.50 USD, promotional, added on" in shown
    gift = Grant.objects.get(kind="promotional")
    assert submit(admin, address, grant=gift.pk).status_code == 302
    wallet.refresh_from_db()
    gift.refresh_from_db()
    assert (wallet.balance, gift.remaining) == (10, 0)
    assert gift.voided_at is not None
    assert submit(admin, address, grant=gift.pk).status_code == 200  # it is no choice any more
    submit(admin, address, grant=Grant.objects.exclude(pk=gift.pk).get().pk)
    assert admin.get(address)["Location"] == change_url(wallet)
    assert "Nothing is left that could be taken back." in admin.get(change_url(wallet)).content.decode()


def test_opening_a_wallet_says_that_it_ends_billing_afterwards(admin, account):
    held = factories.license(account, access_amount=Decimal("1.1"), access_currency="EUR")
    given = {"account": account.pk, "requester_own_id": "org_acme"}
    address = reverse("admin:analytics_wallet_add")
    for unit, overdraft, warning in (
        ("EUR", "20", "billed afterwards today. From then on they are paid from credit of 20.00 EUR, and denied once"),
        ("access", "", "not counted today. From then on each spends one of 0 accesses, and they are denied once none"),
    ):
        asked = submit(admin, address, **given, own_unit=unit, overdraft=overdraft)
        assert f"Accesses of org_acme are {warning}" in asked.content.decode()
        assert not Wallet.objects.filter(unit=unit).exists()
        assert confirmed(admin, asked).status_code == 302
    assert submit(admin, address, **given, own_unit="EUR", of_license=held.pk).status_code == 302  # it has one already
    assert submit(admin, address, **given, own_unit="USD").status_code == 302
    assert Wallet.objects.count() == 4

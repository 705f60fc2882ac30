from collections import Counter
from datetime import timedelta
from decimal import Decimal
from functools import partial
from html import unescape

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.models import Account
from analytics.models import LedgerEntry, Payment, Wallet
from licensing.licenses.models import License
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import confirmed, form_values, open_form, submit

ADD = reverse("admin:licensing_license_add")
PREVIEW = reverse("admin:licensing_license_preview")
QUOTA = {"quota": "3"}
THEN_CHARGED = {
    "quota": "3",
    "afterwards": "charge",
    "most_owed": "0.04",
    "access_amount": "0.02",
    "access_currency": "USD",
}


@pytest.fixture
def issue(admin, account):
    """Issue a licence through the form and its confirmation; return the licence."""

    def make(**fields):
        asked = submit(
            admin, ADD, account=account.pk, requester_own_id="org_acme", license_type="commercial", **fields
        )
        assert not License.objects.exists()
        assert not Wallet.objects.exists()
        assert confirmed(admin, asked).status_code == 302
        return License.objects.get()

    return make


@pytest.fixture
def check(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    return lambda: api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})


def words(reply):
    return " ".join(strip_tags(reply.content.decode()).split())


def outcomes(check, count):
    return Counter(check()["reason"] for _ in range(count))


def test_a_quota_is_spent_then_accesses_are_denied_until_the_next_month(issue, check, clock):
    held = issue(**QUOTA)
    wallet = Wallet.objects.get()
    assert (wallet.license, wallet.unit, wallet.balance, wallet.refill_every) == (held, "access", 3, "month")
    assert outcomes(check, 5) == {None: 3, "quota_exceeded": 2}
    clock.advance(days=31)
    assert outcomes(check, 5) == {None: 3, "quota_exceeded": 2}
    assert not LedgerEntry.objects.exists()


def test_accesses_beyond_a_quota_are_charged_until_the_limit_of_what_is_owed(issue, check, api, clock):
    issue(**THEN_CHARGED)
    answers = [check() for _ in range(6)]
    assert [answer["allowed"] for answer in answers] == [True] * 5 + [False]
    assert {answer["charge"]["amount"] for answer in answers[:5]} == {0.02}
    wallet = api.get(f"/v1/wallets/{answers[3]['credits']['walletId']}")
    assert (wallet["balance"], wallet["floor"], wallet["refill"]["amount"]) == (-0.04, -0.04, 0.06)
    assert sum(LedgerEntry.objects.values_list("amount", flat=True)) == Decimal("0.10")
    clock.advance(days=31)  # the refill first covers the two owed accesses
    assert outcomes(check, 4) == {None: 3, "credits_exhausted": 1}


def test_a_top_up_restores_the_full_quota_of_the_next_month(issue, check, admin, clock):
    held = issue(**THEN_CHARGED)
    outcomes(check, 5)
    address = reverse("admin:licensing_requester_top_up", args=[held.requester_id])
    asked = submit(admin, address, wallet=Wallet.objects.get().pk, amount="0.04")
    assert confirmed(admin, asked).status_code == 302
    assert Payment.objects.get().amount == Decimal("0.04")
    clock.advance(days=31)
    assert outcomes(check, 6) == {None: 5, "credits_exhausted": 1}


def test_the_preview_and_the_confirmation_say_what_the_quota_does(admin, account):
    sent = {"account": account.pk, "requester_own_id": "org_acme", "license_type": "commercial", **THEN_CHARGED}
    told = "3 accesses a month: credit of 0.06 USD"
    assert told in words(admin.post(PREVIEW, sent))
    asked = submit(admin, ADD, **sent)
    assert told in words(asked)
    assert "up to 0.04 USD can be owed" in words(asked)


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (
            {"access_amount": "0.03"},
            "was 3 accesses and is 2 from now on. To keep 3, use Set a quota on the wallet's page: 0.09 USD.",
        ),
        ({"access_amount": "0.01"}, "was 3 accesses and is 6 from now on."),
        ({"access_currency": "EUR"}, "was 3 accesses. It pays for none of this licence any more."),
        ({"access_amount": "", "access_currency": ""}, "was 3 accesses. It pays for none of this licence any more."),
        ({"tags": "news"}, None),
    ],
)
def test_a_changed_price_per_access_says_what_becomes_of_the_quota(admin, issue, price, said):
    held = issue(**THEN_CHARGED)
    text = unescape(words(submit(admin, change_url(held), **price)))
    assert (f"The quota of 0.06 USD each month {said}" in text) if said else ("The quota of" not in text)


def test_the_preview_of_a_changed_price_per_access_says_what_becomes_of_the_quota(admin, issue):
    held = issue(**THEN_CHARGED)
    values = form_values(admin.get(change_url(held)).content.decode())
    for amount, is_said in (("0.03", True), ("0.02", False), ("x", False)):
        shown = admin.post(f"{PREVIEW}?license={held.pk}", {**values, "access_amount": amount})
        assert ("was 3 accesses and is 2 from now on" in words(shown)) == is_said


def test_invalid_quotas_are_named_and_left_out_of_the_preview(admin, account):
    for fields in ({"quota": "x"}, {"afterwards": "charge", "quota": "3"}, {"most_owed": "x"}):
        assert "a month" not in words(admin.post(PREVIEW, {"account": account.pk, **fields}))
    send = partial(open_form(admin, ADD), account=account.pk, requester_own_id="org_acme", license_type="commercial")
    for fields, wrong in (
        ({"afterwards": "charge"}, "quota"),
        ({"most_owed": "5"}, "quota"),
        ({"quota": "3", "most_owed": "5"}, "most_owed"),
        ({**THEN_CHARGED, "most_owed": ""}, "most_owed"),
        ({**THEN_CHARGED, "access_amount": "", "access_currency": ""}, "access_amount"),
        ({"quota": "0"}, "quota"),
        ({"quota": "2.5"}, "quota"),
    ):
        reply = send(**fields)
        assert wrong in reply.context["adminform"].form.errors, fields
        assert not License.objects.exists(), fields
    reply = send(**{**THEN_CHARGED, "quota": "1000000000", "access_amount": "9999999", "confirmed": "1"})
    assert reply.context["adminform"].form.errors.keys() == {"quota"}
    assert not License.objects.exists()
    assert not Wallet.objects.exists()


def test_templates_fill_in_the_form_and_keep_the_customer(admin, account):
    html = admin.get(f"{ADD}?account={account.pk}&requester_own_id=org_acme").content.decode()
    assert "10,000 accesses a month, then 0.02 USD each" in html
    address = f"{ADD}?account={account.pk}&requester_own_id=org_acme&template=quota_then_charged"
    assert address.replace("&", "&amp;").partition("?")[2] in html
    values = form_values(admin.get(address).content.decode())
    filled_in = {name: values[name] for name in (*THEN_CHARGED, "requester_own_id")}
    assert filled_in == {
        "quota": ["10000"],
        "afterwards": ["charge"],
        "most_owed": ["1000"],
        "access_amount": ["0.02"],
        "access_currency": ["USD"],
        "requester_own_id": ["org_acme"],
    }


@pytest.mark.parametrize("template", ["quota", "quota_then_charged", "per_access", "year"])
def test_each_template_issues_a_licence_as_it_is(admin, account, template):
    address = f"{ADD}?account={account.pk}&requester_own_id=org_acme&template={template}"
    assert submit(admin, address, license_type="commercial", confirmed="1").status_code == 302
    held = License.objects.get()
    assert (held.expires_at is not None) == (template == "year")
    assert Wallet.objects.filter(license=held).count() == ("quota" in template)


@pytest.mark.parametrize("fields", [QUOTA, THEN_CHARGED])
def test_a_renewed_licence_has_the_quota_again(admin, issue, fields):
    held = issue(**fields, expires_at_0="2090-01-01", expires_at_1="00:00")
    renewed = reverse("admin:licensing_license_renew", args=[held.pk])
    submit(admin, admin.get(renewed)["Location"], confirmed="1")
    later = License.objects.latest("starts_at")
    assert later.pk != held.pk
    wallets = Wallet.objects.order_by("created")
    first, second = ((one.unit, one.refill_amount, one.floor) for one in wallets)
    assert first == second
    assert [one.balance for one in wallets] == [wallets[0].refill_amount, 0]  # the second starts with its licence


def test_an_operator_who_may_not_open_wallets_issues_licences_without_a_quota(staff, sign_in, account):
    client = sign_in(
        staff(
            "licensing.view_license",
            "licensing.add_license",
            "licensing.view_requester",
            "accounts.view_account",
            accounts=[account],
        )
    )
    assert "quota" not in form_values(client.get(ADD).content.decode())
    sent = {"account": account.pk, "requester_own_id": "org_acme", "license_type": "commercial", "confirmed": "1"}
    assert submit(client, ADD, **sent, **QUOTA).status_code == 302
    assert License.objects.exists()
    assert not Wallet.objects.exists()


def test_a_quota_starts_with_its_licence_and_is_not_set_there(admin, issue, clock):
    start = clock.now + timedelta(days=3)
    held = issue(**QUOTA, starts_at_0=f"{start:%Y-%m-%d}", starts_at_1=f"{start:%H:%M:%S}")
    wallet = Wallet.objects.get()
    assert (wallet.balance, wallet.next_refill_at) == (0, start.replace(microsecond=0))
    assert "quota" not in form_values(admin.get(change_url(held)).content.decode())


def test_templates_are_in_the_currency_of_the_account(admin, account):
    Account.objects.filter(pk=account.pk).update(currency="EUR")
    assert "10,000 accesses a month, then 0.02 EUR each" in admin.get(ADD).content.decode()
    for template in ("quota_then_charged", "per_access"):
        filled = form_values(admin.get(ADD, {"template": template}).content.decode())
        assert filled["access_currency"] == ["EUR"]


def test_the_fee_and_the_quota_that_were_sold_are_shown(admin, account, check):
    fee = {"fee_amount": "50", "fee_currency": "EUR", "fee_every": "month"}
    fields = {"requester_own_id": "org_acme", "license_type": "commercial", **fee, **QUOTA}
    reply = confirmed(admin, submit(admin, ADD, account=account.pk, **fields))
    held, wallet = License.objects.get(), Wallet.objects.get()
    assert reply["Location"] == change_url(held)
    check()
    page = admin.get(change_url(held)).content.decode()
    assert change_url(wallet) in page
    assert "2 accesses left, 3 accesses each month" in page
    for shown in (reverse("admin:licensing_license_changelist"), change_url(held.requester)):
        assert "50.00 EUR every month" in words(admin.get(shown))


def test_a_template_fills_in_the_only_licence_type_and_the_confirmation_names_a_new_customer(admin, account):
    for asked_for, filled_in in (("press", "press"), ("trade", "")):
        factories.policy(account, {"action": "allow", "conditions": {"licenseType": asked_for}})
        values = form_values(admin.get(f"{ADD}?account={account.pk}&template=quota").content.decode())
        assert (values["license_type"], values["quota"]) == ([filled_in], ["10000"])
    sent = {"requester_own_id": "org_new", "requester_name": "New Inc.", "license_type": "press", **QUOTA}
    assert "New Inc., id org_new (new)" in words(submit(admin, ADD, account=account.pk, **sent))


@pytest.mark.parametrize("typed", ["10.000", "10,000", "1.5"])
def test_a_quota_that_could_be_ten_or_ten_thousand_is_refused(admin, account, typed):
    text = words(
        submit(admin, ADD, account=account.pk, requester_own_id="org_acme", license_type="commercial", quota=typed)
    )
    assert "Write 10000, without a separator." in text or "Enter a whole number." in text
    assert not License.objects.exists()


def test_revoking_a_licence_lists_its_quota_and_the_customer_s_page_says_that_it_goes_on(admin, issue, account):
    held = issue(**QUOTA)
    told = "3 accesses each month"
    address = reverse("admin:licensing_license_revoke", args=[held.pk])
    asked = admin.get(address)
    assert f"The quota of {told} goes on refilling: set it to never." in words(asked)
    terms = reverse("admin:analytics_wallet_change_terms", args=[Wallet.objects.get().pk])
    assert terms in asked.content.decode()
    assert told not in words(admin.get(change_url(held.requester)))
    admin.post(address)
    page = admin.get(change_url(held.requester))
    assert f"No licence uses it{told}: set it to never" in words(page)
    assert terms in page.content.decode()

    factories.license(account, "org_acme", license_type="press")  # which does not spend the other one's quota
    assert told in words(admin.get(change_url(held.requester)))
    submit(admin, terms, refill_every="")
    assert Wallet.objects.get().refill_amount is None
    assert told not in words(admin.get(change_url(held.requester)))


def test_a_quota_of_the_customer_goes_on_only_after_its_last_licence(admin, api, account, clock):
    held = factories.license(account, "org_acme", expires_at=clock.now + timedelta(days=9))
    refill = {"amount": 3, "every": "month"}
    api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})
    other = factories.license(account, "org_acme", license_type="press")
    revoke = reverse("admin:licensing_license_revoke", args=[other.pk])
    page = change_url(held.requester)
    for shown in (revoke, page):
        assert "3 accesses each month" not in words(admin.get(shown))
    clock.advance(days=9)
    assert "The quota of 3 accesses each month goes on refilling" in words(admin.get(revoke))
    assert "No licence uses it" not in words(admin.get(page))
    admin.post(revoke)
    assert "No licence uses it3 accesses each month" in words(admin.get(page))


def test_a_quota_that_goes_on_is_shown_to_whoever_may_see_wallets_without_links_that_do_not_open(
    admin, issue, staff, sign_in, account
):
    held = issue(**QUOTA)
    admin.post(reverse("admin:licensing_license_revoke", args=[held.pk]))
    rights = ("licensing.view_requester", "analytics.view_wallet")
    viewer = sign_in(staff(*rights, accounts=[account])).get(change_url(held.requester))
    assert "No licence uses it3 accesses each month" in words(viewer)
    assert "/terms" not in viewer.content.decode()
    nobody = sign_in(staff(rights[0], accounts=[account])).get(change_url(held.requester))
    assert "No licence uses it" not in words(nobody)

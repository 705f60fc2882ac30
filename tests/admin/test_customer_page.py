import re
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import AccessEvent, ExchangeRate, Payment, Statement
from analytics.usage import subject_usage
from licensing.requesters import services
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from tests import factories
from tests.admin.forms import confirmed, form_values, submit


def html_of(client, address):
    return client.get(address, follow=True).content.decode()


def button(requester, name):
    return reverse(f"admin:licensing_requester_{name}", args=[requester.pk])


@pytest.fixture
def acme(api, account):
    api.post(
        "/v1/requesters", {"id": "org_acme", "name": "Acme", "email": "ada@acme.example", "notes": "Renews in May."}
    )
    return Requester.objects.get(account=account, requester_id="org_acme")


def test_the_page_leads_with_who_it_is_its_balance_and_last_access(admin, api, account, acme):
    wallet = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "EUR"})["id"]
    api.post(f"/v1/wallets/{wallet}/grants", {"amount": "12.5"})
    api.post("/v1/access/check", {"contentId": factories.content(account).pk, "requester": "org_acme"})
    html = html_of(admin, change_url(acme))
    seen = AccessEvent.objects.get().created
    for shown in ("Acme", "ada@acme.example", "Renews in May.", "12.50 EUR", f"{seen:%Y-%m-%d %H:%M}"):
        assert shown in html
    for name in ("issue_license", "edit", "statement", "merge", "erase"):
        assert button(acme, name) in html


def test_whoever_may_view_a_customer_sees_its_address_and_links_only_to_pages_that_open(sign_in, staff, account, acme):
    services.update_requester(acme, {"metadata": {"address": "Kai 1\n20457 <Hamburg>"}})
    client = sign_in(staff("licensing.view_requester", "analytics.view_payment", accounts=[account]))
    html = html_of(client, change_url(acme))
    assert "Kai 1<br>20457 &lt;Hamburg&gt;" in html
    filters = {"requester__id__exact": str(acme.pk)}
    assert [list_url(model, **filters) in html for model in (Payment, AccessEvent, Statement)] == [True, False, False]


def test_a_customer_with_many_decisions_shows_the_outcomes_that_are_counted(
    admin, api, account, acme, clock, monkeypatch
):
    monkeypatch.setattr(subject_usage, "MAX_GROUPED", 3)
    item = factories.content(account)
    for moment in ("2026-03-03T12:00:00Z", "2026-03-03T13:00:00Z", "2026-03-04T12:00:00Z", "2026-03-04T13:00:00Z"):
        clock.set(moment)
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert "counted since 2026-03-04" in html_of(admin, change_url(acme))

    monkeypatch.setattr(subject_usage, "MAX_GROUPED", 2)
    for _ in range(3):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    html = html_of(admin, change_url(acme))
    assert "The last day has too many decisions" in html
    for claim in ("of-one-allowed", "of-one-denied", "Nothing was denied"):
        assert claim not in html


def test_the_list_shows_who_holds_and_owes_what_and_filters_by_it(admin, api, account, acme, staff, sign_in):
    item = factories.content(account)
    factories.license(account, "org_acme", price_amount=Decimal("12.5"), price_currency="EUR")
    factories.license(account, "org_acme", license_type="press")
    factories.payment(account, "7", requester_id=factories.requester(account, name="Payer").requester_id)
    for requester in ("org_acme", "reader-1", "crawler:gptbot"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})
    factories.requester(account, name="Gone", requester_id="org_gone")
    api.delete("/v1/requesters/org_gone")
    listed = reverse("admin:licensing_requester_changelist")

    def names(client=admin, **query):
        return {str(one) for one in client.get(listed, query).context["cl"].result_list}

    html = " ".join(re.sub(r"<[^>]+>", " ", html_of(admin, listed)).split())
    seen = AccessEvent.objects.get(requester=acme).created
    assert f"commercial, press 12.50 EUR owed 12.50 EUR none {seen:%Y-%m-%d %H:%M}" in html
    assert "7.00 USD paid in advance" in html
    assert names(kind="customers") == {"Acme", "Payer"}
    assert names(kind="crawlers") == {"crawler:gptbot"}
    assert names(kind="others") == {"reader-1"}
    assert [name.startswith("erased_") for name in names(kind="erased")] == [True]
    assert names(balance="owes") == {"Acme"}
    assert names(balance="advance") == {"Payer"}
    viewer = sign_in(staff("licensing.view_requester", accounts=[account]))
    assert names(viewer, balance="owes") == names()  # statements are not theirs to see
    assert "12.50 EUR" not in html_of(viewer, listed)


def test_the_list_sorts_by_what_is_owed_earned_and_left_at_the_rates_of_today(admin, account):
    ExchangeRate.objects.create(currency="JPY", day=timezone.now().date(), rate="200")
    for org, price, currency in (("org_small", 3, "EUR"), ("org_yen", 1000, "JPY"), ("org_large", 7, "EUR")):
        factories.requester(account, requester_id=org)
        factories.license(account, org, price_amount=Decimal(price), price_currency=currency)
    factories.payment(account, "6.5", requester_id="org_large", currency="EUR")
    factories.wallet(account, "EUR", requester_id="org_small")
    listed = reverse("admin:licensing_requester_changelist")
    columns = admin.get(listed).context["cl"].list_display

    def names(column, sign=""):
        shown = admin.get(listed, {"o": f"{sign}{columns.index(column)}"}).context["cl"].result_list
        return [one.requester_id for one in shown]

    assert names("owes", sign="-") == ["org_yen", "org_small", "org_large"]
    assert names("owes") == ["org_large", "org_small", "org_yen"]
    assert names("revenue", sign="-") == ["org_large", "org_yen", "org_small"]
    assert names("credit", sign="-")[0] == "org_small"


def test_a_customer_is_added_and_found_by_its_name(admin, account):
    add = reverse("admin:licensing_requester_add_customer")
    assert add in html_of(admin, reverse("admin:licensing_requester_changelist"))
    sent = {"account": account.pk, "requester_id": "org_new", "name": "Newcomer", "email": "", "notes": ""}
    reply = admin.post(add, sent)
    made = Requester.objects.get(requester_id="org_new")
    assert (reply["Location"], made.name, made.email) == (change_url(made), "Newcomer", None)
    assert "org_new" in html_of(admin, reverse("admin:licensing_requester_changelist") + "?q=newc")
    assert "already" in admin.post(add, sent).content.decode()
    named = admin.post(add, {**sent, "requester_id": "org_other", "name": "NEWCOMER"}).content.decode()
    assert "is a customer already: org_new" in named
    assert Requester.objects.count() == 1


def test_a_customer_is_edited_and_erased_to_a_pseudonym(admin, acme, django_capture_on_commit_callbacks):
    submit(admin, button(acme, "edit"), name="Acme GmbH", email="", notes="Renews in June.")
    acme.refresh_from_db()
    assert (acme.name, acme.email, acme.notes) == ("Acme GmbH", None, "Renews in June.")
    with django_capture_on_commit_callbacks(execute=True):
        admin.post(button(acme, "erase"))
    acme.refresh_from_db()
    assert (acme.requester_id[:7], acme.name, acme.erasing) == ("erased_", None, None)


def test_a_customer_was_last_there_when_one_merged_into_it_was(admin, api, account, acme):
    api.post("/v1/access/check", {"contentId": factories.content(account).pk, "requester": "org_acme"})
    other = factories.requester(account, requester_id="org_other")
    api.post("/v1/requesters/org_acme/merge", {"into": "org_other"})
    listed = reverse("admin:licensing_requester_changelist") + "?q=org_other"
    for html in (html_of(admin, change_url(other)), html_of(admin, listed)):
        assert f"{AccessEvent.objects.get().created:%Y-%m-%d %H:%M}" in html
        assert ">never<" not in html


def test_the_page_of_a_merged_customer_offers_only_what_still_applies_to_it(admin, api, account, acme):
    factories.license(account, "org_acme")
    factories.requester(account, requester_id="org_other", name="Other")
    api.post("/v1/requesters/org_acme/merge", {"into": "org_other"})
    html = html_of(admin, change_url(acme))
    assert "Its licences moved to Other." in html
    assert "Since its merge, decisions and charges are under Other." in strip_tags(html)
    other = Requester.objects.get(requester_id="org_other")
    said = "Decisions and charges from before a merge are under Acme."
    assert said in strip_tags(html_of(admin, change_url(other)))
    for name in ("edit", "merge", "top_up", "issue_license"):
        assert button(acme, name) not in html
    for name in ("erase", "record_payment", "statement"):
        assert button(acme, name) in html


def test_a_merge_moves_the_licences_to_a_known_customer(admin, acme, account):
    html = html_of(admin, button(acme, "merge"))
    assert re.search(rf'name="into"[^>]*data-suggest="[^"]*kind=requester"[^>]*data-account="{account.pk}"', html)
    assert "operators/suggest.js" in html
    assert "There is no customer" in admin.post(button(acme, "merge"), {"into": "nobody"}).content.decode()
    held = factories.license(account, "org_acme")
    other = factories.license(account, "org_other").requester
    factories.wallet(account, "EUR", "7", requester_id="org_other")
    asked = admin.post(button(acme, "merge"), {"into": "org_other", "name": "Acme"})
    text = asked.content.decode()
    assert "Acme (org_acme): running licences 1" in text
    assert "org_other (org_other): running licences 1, credit 7.00 EUR" in text
    assert not Requester.objects.filter(merged_into=other).exists()
    assert confirmed(admin, asked)["Location"] == change_url(other)
    held.refresh_from_db()
    assert held.requester == other


def test_the_question_before_a_merge_says_what_is_transferred_and_the_balances_afterwards(admin, acme, account):
    factories.payment(account, 20, requester_id="org_acme", currency="EUR")
    factories.requester(account, requester_id="org_other")
    for org, credit in (("org_acme", "15"), ("org_other", "7")):
        factories.wallet(account, "EUR", credit, requester_id=org)
    text = strip_tags(admin.post(button(acme, "merge"), {"into": "org_other", "name": "Acme"}).content.decode())
    for said in (
        "Merged Acme (org_acme): balance 20.00 EUR paid in advance, credit 15.00 EUR",
        "Into org_other (org_other): credit 7.00 EUR",
        "Money transferred 15.00 EUR",
        "Merged, afterwards Acme (org_acme): balance 5.00 EUR paid in advance",
        "Into, afterwards org_other (org_other): balance 15.00 EUR paid in advance, credit 22.00 EUR",
    ):
        assert said in " ".join(text.split())
    assert not Requester.objects.exclude(merged_into=None).exists()


@pytest.mark.parametrize(("merged", "into"), [("org_billed", "org_prepaid"), ("org_prepaid", "org_billed")])
@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("USD", "are billed afterwards today. From then on they are paid from credit of 0.00 USD, and denied once it"),
        ("access", "are not counted today. From then on each spends one of 0 accesses, and they are denied once none"),
        ("EUR", None),
    ],
)
def test_the_question_before_a_merge_says_whose_accesses_credit_pays_from_then_on(
    admin, api, account, merged, into, unit, said
):
    factories.license(account, "org_billed", per_access="0.125")
    factories.requester(account, requester_id="org_prepaid")
    api.post("/v1/wallets", {"requesterId": "org_prepaid", "unit": unit})
    source = Requester.objects.get(requester_id=merged)
    asked = admin.post(button(source, "merge"), {"into": into, "name": merged})
    text = " ".join(strip_tags(asked.content.decode()).split())
    assert "Merge them" in text
    if said:
        assert f"Accesses of org_billed {said}" in text
    else:
        assert "From then on" not in text


def test_what_a_merged_customer_owes_is_on_the_page_of_the_one_that_it_was_merged_into(admin, api, account, acme):
    factories.license(account, "org_acme", price_amount=Decimal("12.5"), price_currency="EUR")
    whole = factories.requester(account, requester_id="org_whole", name="Whole")
    api.post("/v1/requesters/org_acme/merge", {"into": "org_whole"})
    html = html_of(admin, change_url(whole))
    assert f'href="{change_url(acme)}">Acme</a>: 12.50 EUR owed' in html
    paid = {"account": account.pk, "requester_own_id": "org_whole", "amount": "12.5", "currency": "EUR"}
    form = reverse("admin:analytics_payment_add")
    assert "Nothing was owed in EUR. Acme owes 12.50 EUR." in submit(admin, form, **paid).content.decode()
    assert confirmed(admin, submit(admin, form, **{**paid, "requester_own_id": "org_acme"})).status_code == 302
    assert "Stays with merged customers" not in html_of(admin, change_url(whole))


def test_erasing_a_customer_warns_of_fees_that_go_on(admin, account, acme):
    assert "Fees go on" not in html_of(admin, button(acme, "erase"))
    fee = {"fee_amount": Decimal(5), "fee_currency": "USD", "fee_every": "month"}
    factories.license(account, "org_acme", **fee)
    said = " ".join(strip_tags(html_of(admin, button(acme, "erase"))).split())
    assert "whom you cannot bill: 5.00 USD every month, next on" in said
    assert "revoke the licences first" in said


def test_erasing_a_customer_names_those_that_were_merged_into_it_and_what_they_owe(admin, api, account, acme):
    assert "erased, too" not in html_of(admin, button(acme, "erase"))
    factories.license(account, "org_twin", price_amount=Decimal("12.5"), price_currency="EUR")
    api.patch("/v1/requesters/org_twin", {"name": "Acme Twin"})
    api.post("/v1/requesters/org_twin/merge", {"into": "org_acme"})
    said = strip_tags(html_of(admin, button(acme, "erase")))
    assert "Customers that were merged into it are erased, too: Acme Twin (org_twin)." in said
    assert "Acme Twin: 12.50 EUR owed" in said
    assert "Tax law" in said
    assert admin.post(button(acme, "erase")).status_code == 200  # it asks for the name


def test_merging_and_erasing_a_customer_with_obligations_ask_for_its_name(admin, account, acme):
    factories.license(account, "org_acme", price_amount=Decimal("12.5"), price_currency="EUR")
    factories.license(account, "org_other")
    for name, sent in (("merge", {"into": "org_other"}), ("erase", {})):
        html = html_of(admin, button(acme, name))
        assert "12.50 EUR" in html
        assert "Running licences" in html
        for typed in ({}, {"name": "acme"}):
            assert admin.post(button(acme, name), {**sent, **typed}).status_code == 200
    html = html_of(admin, button(acme, "erase"))
    assert "Tax law" in html
    assert list_url(Statement, requester__id__exact=str(acme.pk)) in html
    acme.refresh_from_db()
    assert (acme.name, acme.merged_into, acme.erasing) == ("Acme", None, None)
    asked = admin.post(button(acme, "merge"), {"into": "org_other", "name": "Acme"})
    assert confirmed(admin, asked).status_code == 302
    acme.refresh_from_db()
    assert acme.merged_into.requester_id == "org_other"


def test_record_payment_and_statement_lead_to_what_the_customer_owes(admin, acme, api, account):
    assert f"requester__id__exact={acme.pk}" in admin.get(button(acme, "statement"))["Location"]

    location = admin.get(button(acme, "record_payment"))["Location"]
    assert "requester_own_id=org_acme" in location
    assert "amount" not in location
    factories.license(account, "org_acme", price_amount=Decimal("12.5"), price_currency="EUR")
    assert "amount=12.5&currency=EUR" in admin.get(button(acme, "record_payment"))["Location"]


def test_a_payment_in_a_currency_in_which_nothing_is_owed_says_so(admin, acme, account):
    factories.license(account, "org_acme", price_amount=Decimal("12.5"), price_currency="EUR")
    form = reverse("admin:analytics_payment_add")
    paid = {"account": account.pk, "requester_own_id": "org_acme", "amount": "5"}
    warning = "Nothing was owed in USD. Acme owes 12.50 EUR."
    assert warning in submit(admin, form, **paid, currency="USD").content.decode()
    assert "Nothing was owed" not in submit(admin, form, **paid, currency="EUR").content.decode()


def test_a_payment_begins_with_the_currency_that_the_customer_always_had(admin, acme, account):
    factories.license(account, "org_acme", price_amount=Decimal(500), price_currency="JPY")
    factories.payment(account, "500", requester_id="org_acme", currency="JPY")
    assert "currency=JPY" in admin.get(button(acme, "record_payment"))["Location"]


def test_a_viewer_has_no_buttons_for_changes_and_refunds(staff, sign_in, account, acme, admin):
    client = sign_in(staff("licensing.view_requester", accounts=[account]))
    html = html_of(client, change_url(acme))
    for name in ("edit", "merge", "erase", "statement"):
        assert button(acme, name) not in html
        assert client.post(button(acme, name)).status_code == 403

    assert refunds_offered(admin, acme) == []
    assert "nothing is left to refund" in html_of(admin, button(acme, "refund"))
    client = sign_in(staff("licensing.view_requester", "analytics.view_ledgerentry", accounts=[account]))
    assert button(acme, "refund") not in html_of(client, change_url(acme))
    assert client.get(button(acme, "refund")).status_code == 403


@pytest.fixture
def charged(api, account):
    """A customer with a priced licence and two charged accesses."""
    item = factories.content(account, title="Markets", policy_id=factories.policy(account).pk)
    held = factories.license(account, price_amount=Decimal(100), price_currency="EUR", per_access="0.05")
    for _ in range(2):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    return held.requester


def refunds_offered(client, requester):
    """Return the addresses and labels of the *Refund* links on the page behind the refund button."""
    assert button(requester, "refund") in html_of(client, change_url(requester))
    return re.findall(
        r'href="([^"]*/refund/?)" aria-label="Refund ([^:]*):', html_of(client, button(requester, "refund"))
    )


def test_refunds_start_from_charges_with_something_left_even_after_a_merge(admin, charged, api, account):
    offered = refunds_offered(admin, charged)
    assert [left for _, left in offered] == ["100.00 EUR", "0.05 USD", "0.05 USD"]
    values = form_values(html_of(admin, offered[0][0]))
    assert (values["amount"], values["currency"]) == (["100"], ["EUR"])
    for (link, _), part in zip(offered[:2], ("30", "0.05"), strict=True):
        assert submit(admin, admin.get(link)["Location"], amount=part, confirmed="1").status_code == 302
    assert [left for _, left in refunds_offered(admin, charged)] == ["70.00 EUR", "0.05 USD"]

    other = factories.license(account, "org_other").requester
    api.post("/v1/requesters/org_acme/merge", {"into": "org_other"})
    assert [left for _, left in refunds_offered(admin, other)] == ["70.00 EUR", "0.05 USD"]

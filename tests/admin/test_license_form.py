from datetime import timedelta
from decimal import Decimal

from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import LedgerEntry
from licensing.licenses.models import License
from operators.base.links import change_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import form_values

PREVIEW = reverse("admin:licensing_license_preview")
ADD = reverse("admin:licensing_license_add")


def told(client, **fields):
    reply = client.post(PREVIEW, fields)
    assert reply.status_code == 200
    return " ".join(strip_tags(reply.content.decode()).split())


def test_the_preview_tells_operators_nothing_that_they_may_not_see(sign_in, account):
    client = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert client.post(PREVIEW, {"account": account.pk}).status_code == 403


def test_forms_load_and_name_their_suggestions(admin, account, herrings):
    for model in ("licensing_license", "licensing_licenseclient", "analytics_ledgerentry"):
        html = admin.get(reverse(f"admin:{model}_add")).content.decode()
        assert "data-suggest=" in html
        assert 'src="/static/operators/suggest.js"' in html
    html = admin.get(ADD).content.decode()
    for kind in ("customer", "item", "tag", "policy"):
        assert f'data-suggest="{reverse("admin:suggest")}?kind={kind}"' in html
    html = admin.get(change_url(herrings["license"])).content.decode()
    assert f'data-account="{account.pk}"' in html
    assert "data-account" not in admin.get(ADD).content.decode()  # no value carries over between pages


def test_the_currencies_that_were_booked_are_offered_first(admin, account):
    for currency in ("GBP", "EUR", "EUR"):
        factories.license(account, f"org_{currency}", price_amount=Decimal(1), price_currency=currency)
    for page in ("licensing_license", "analytics_ledgerentry"):
        fields = admin.get(reverse(f"admin:{page}_add")).context["adminform"].form.fields
        field = fields.get("price_currency") or fields["currency"]
        [_, (title, booked), (_, others)] = field.choices
        assert (title, {code for code, _ in booked}) == ("Booked before", {"EUR", "GBP"}), page
        assert ("EUR" in dict(others), "USD" in dict(others)) == (False, True), page


def test_the_preview_shows_coverage_customer_and_revenue_and_leaves_out_invalid_values(admin, account, herrings):
    fields = {"account": account.pk, "requester_own_id": "org_newco", "price_amount": "100", "price_currency": "USD"}
    words = told(admin, **fields, tags="news\nsport", access_amount="0.05", access_currency="USD")
    assert "New customer: org_newco." in words
    assert "Covers 1 item." in words
    assert "100.00 USD is booked now." in words
    assert "Each access that it allows is charged 0.05 USD." in words
    assert License.objects.filter(account=account).count() == 1
    assert not LedgerEntry.objects.exists()
    words = told(admin, account=account.pk, requester_own_id="org_herring", content_ids=herrings["item"].pk)
    assert "Customer: Herring & Sons (org_herring)." in words.replace("&amp;", "&")
    assert "Covers 1 item: Herring quota." in words
    merged = factories.requester(account, requester_id="org_merged", name="Merged")
    merged.merged_into = herrings["license"].requester
    merged.save()
    words = told(admin, account=account.pk, requester_own_id="org_merged")
    assert "Customer: Herring & Sons (org_herring)." in words.replace("&amp;", "&")
    words = told(admin, account=account.pk, license_type="comercial")
    assert "Did you mean commercial?" in words

    for fields in (
        {"price_amount": "x", "price_currency": "USD"},
        {"price_amount": "1", "price_currency": "???"},
        {"price_amount": "NaN", "price_currency": "USD"},
        {"starts_at_0": "soon", "starts_at_1": "x"},
        {"content_ids": "cnt_nonsense", "policy_ids": "x", "tags": "\0"},
        {"requester_own_id": "\0"},
    ):
        assert "Covers" in told(admin, account=account.pk, **fields)
    words = told(admin, account=account.pk, fee_amount="12.000", fee_currency="JPY", fee_every="month")
    assert "Recurring fee: Write 12000 or 12.00: 12.000 could be either." in words
    assert "is charged in advance" not in words
    start = {"starts_at_0": "2090-01-31", "starts_at_1": "12:00"}
    words = told(admin, account=account.pk, price_amount="7", price_currency="JPY", **start)
    assert "Covers everything." in words
    assert "7 JPY is booked as of 2090-01-31 12:00 UTC." in words


def test_the_preview_of_a_change_shows_reversed_and_new_revenue(admin, account):
    held = factories.license(account, price_amount=Decimal(10), price_currency="EUR")
    values = {name: value[0] for name, value in form_values(admin.get(change_url(held)).content.decode()).items()}

    def change(**fields):
        reply = admin.post(f"{PREVIEW}?license={held.pk}", {**values, **fields})
        return " ".join(strip_tags(reply.content.decode()).split())

    assert "booked" not in change()
    assert "-10.00 EUR is booked" in change(price_amount="12")
    assert "12.00 EUR is booked" in change(price_amount="12")


def test_the_preview_of_an_end_within_a_paid_period_says_that_its_fee_stays(admin, account):
    fee = {"fee_amount": Decimal(50), "fee_currency": "EUR", "fee_every": "month"}
    held = factories.license(account, **fee)
    values = {name: value[0] for name, value in form_values(admin.get(change_url(held)).content.decode()).items()}

    def ends_in(days):
        moment = timezone.now() + timedelta(days=days)
        fields = {"expires_at_0": f"{moment:%Y-%m-%d}", "expires_at_1": "12:00:00"}
        reply = admin.post(f"{PREVIEW}?license={held.pk}", {**values, **fields})
        return " ".join(strip_tags(reply.content.decode()).split())

    assert "No further fee is charged. What was charged in advance stays" in ends_in(5)
    assert "charged in advance, from the next period." in ends_in(50)


def test_nothing_is_told_of_a_licence_or_an_account_that_one_may_not_see(sign_in, account, other_account):
    client = sign_in(create_operator("eve", role="Editor", accounts=[account])[0])
    held = factories.license(other_account, license_type="secret-tier")
    assert client.post(f"{PREVIEW}?license={held.pk}", {}).status_code == 404
    assert told(client, account=other_account.pk) == ""


def test_the_form_says_that_a_licence_covers_all_sites_and_offers_the_policies_of_each(admin, account, other_account):
    policies = {host: factories.policy(account) for host in ("pub.example", "blog.example")}
    address = f"{ADD}?account={account.pk}"
    for host, policy in policies.items():
        factories.site(account, {"/a": policy, "/b": policy, "/c": None}, host=host)
        shown = admin.get(address).content.decode()
    assert "it covers everything, on all sites." in shown
    offered = "; ".join(f"{host}: {policy.pk}" for host, policy in reversed(policies.items()))
    assert f"The policies of a site cover its pages alone: {offered}." in shown
    for other in (ADD, f"{ADD}?account={other_account.pk}"):
        assert "cover its pages alone" not in admin.get(other).content.decode()

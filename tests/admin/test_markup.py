import re
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from analytics.models import ExchangeRate
from kit.rest.resources import unknown
from licensing.requesters.models import Requester
from operators.base.refusals import translate_message
from operators.catalogue.uploads import LARGER_FILES
from tests import factories
from tests.admin.every_page import addresses
from tests.admin.markup import markup_in, words_of


def test_only_markup_that_a_page_shows_is_found():
    for html in (
        '<a aria-label="Refund 5, <time datetime="2026-11-28">13:58</time>">Refund</a>',
        "<dd>&lt;time datetime=&quot;2026-11-28&quot;&gt;</dd>",
        "<p>Fish &amp;amp; chips</p>",
        "<p>{{ price }}</p>",
        '<p title="{% url %}"></p>',
    ):
        assert markup_in(html) != []
    assert markup_in('<p title="1 &lt; 2">Fish &amp; chips</p><script>"<time>"</script><pre>{% if %}</pre>') == []


REQUESTER = re.compile(r".{0,40}\brequesters?\b(?!\.\w).{0,40}", re.IGNORECASE)  # not `requester.created`


def test_no_page_shows_its_own_markup_or_says_requester_and_all_that_take_files_may_get_large_ones(
    admin, api, account
):
    fill(api, account)
    shown, take_files = {}, set()
    for name, address in addresses():
        reply = admin.get(address)
        if reply.status_code == 200 and "text/html" in reply.headers["Content-Type"]:
            html = reply.content.decode()
            shown[name] = markup_in(html), REQUESTER.findall(words_of(html))
            if 'type="file"' in html:
                take_files.add(f"admin:{name}")
    assert {name: found for name, found in shown.items() if found != ([], [])} == {}
    assert "licensing_requester_refund" in shown
    assert len(shown) > 50
    assert take_files == set(LARGER_FILES)


def fill(api, account):
    """Create one of each resource; the newest customer has charges to refund, and a licence that ends soon."""
    named = {"action": "allow", "conditions": {"requesterId": "org_acme", "attributes": {"country": "DE"}}}
    limited = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 5, "period": "hour"}}
    policy = factories.policy(account, named, limited, factories.DENY_ALL)
    item = factories.content(account, policy_id=policy.pk, tags=["a"])
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_stranger"})
    factories.site(account, {"/a/*": policy})
    factories.endpoint(account)
    terms = {"price_amount": Decimal(100), "price_currency": "EUR", "per_access": "0.05"}
    factories.license(account, expires_at=timezone.now() + timedelta(days=9), **terms)
    factories.license_client(account)
    factories.wallet(account, requester_id="org_acme")
    factories.payment(account, requester_id="org_acme")
    ExchangeRate.objects.create(currency="EUR", day=timezone.now().date() - timedelta(days=1), rate="1.25")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert Requester.objects.latest("pk").requester_id == "org_acme"


def test_a_message_of_the_api_says_customer_where_the_api_says_requester():
    nordlicht = "There is no policy 'Nordlicht'. An id begins with pol_. It is in the address of its page."
    for message, shown in (
        ("There is no requester 'requester 7'.", "There is no customer 'requester 7'."),
        ("A requester's licences, of requesterId.", "A customer's licences, of requesterId."),
        ("Requesters come from POST /v1/requesters.", "Customers come from POST /v1/requesters."),
        (unknown("pol", "Nordlicht"), nordlicht),
    ):
        assert translate_message(message) == shown, message

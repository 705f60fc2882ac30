import re
from html import unescape

import pytest

from kit.rest.resources import unknown
from operators.base.refusals import translate_message
from tests import factories
from tests.admin.every_page import addresses

CODE = re.compile(r"<(script|style|pre|code|svg)\b.*?</\1>", re.DOTALL)
SPOKEN = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
REQUESTER = re.compile(r".{0,40}\brequesters?\b(?!\.\w).{0,40}", re.IGNORECASE)  # not `requester.created`
TAG = re.compile(r"<[^>]*>")


def words_of(html):
    """Return what a page shows and what screen readers say; not its codes and addresses."""
    shown = CODE.sub(" ", html)
    return unescape(" ".join([TAG.sub(" ", shown), *SPOKEN.findall(shown)]))


def test_every_page_says_customer_where_the_api_says_requester(admin, api, account):
    named = {"action": "allow", "conditions": {"requesterId": "org_acme", "attributes": {"country": "DE"}}}
    limited = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 5, "period": "hour"}}
    policy = factories.policy(account, named, limited, factories.DENY_ALL)
    item = factories.content(account, policy_id=policy.pk)
    factories.site(account, {"/a/*": policy})
    factories.license(account, per_access="0.05")
    factories.license_client(account)
    factories.wallet(account)
    factories.payment(account)
    for name in ("org_acme", "org_stranger"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": name})
    said = {}
    for name, address in addresses():
        reply = admin.get(address)
        if reply.status_code == 200 and "text/html" in reply.headers["Content-Type"]:
            said[name] = REQUESTER.findall(words_of(reply.content.decode()))
    assert {name: found for name, found in said.items() if found} == {}
    assert len(said) > 50


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("There is no requester 'requester 7'.", "There is no customer 'requester 7'."),
        ("A requester's licences, of requesterId.", "A customer's licences, of requesterId."),
        ("Requesters come from POST /v1/requesters.", "Customers come from POST /v1/requesters."),
        (
            unknown("pol", "Nordlicht"),
            "There is no policy 'Nordlicht'. An id begins with pol_. It is in the address of its page.",
        ),
    ],
)
def test_a_message_of_the_api_says_customer_too(message, shown):
    assert translate_message(message) == shown

"""One licence token for all sections of a site that need one, for a reader's cookie."""

import pytest

from licensing.policies.models import Policy
from tests import factories
from tests.edge.asking import LICENSED, READERS, told
from tests.edge.tokens import ask_token, claims_of, published

WHOLE_SITE = "https://pub.example/*"


@pytest.fixture
def sections(account):
    """Policies of two sections that licensees may read, and of one that everybody may."""
    folders = {"/archive/*": LICENSED, "/premium/*": LICENSED, "/news/*": READERS}
    policies = {folder: factories.policy(account, rule) for folder, rule in folders.items()}
    factories.site(account, policies, host="pub.example", unknown="deny", aliases=["www.pub.example"])
    return policies


def scoped(account, *policies: Policy):
    return factories.license(account, policy_ids=[policy.pk for policy in policies])


def token_for(account, resource=WHOLE_SITE, pattern="/premium/*"):
    reply = ask_token(*factories.license_client(account), resource=resource, license=published(pattern)[0])
    assert reply.status_code == 200, reply.content
    return reply.json()["access_token"]


def test_a_token_for_the_site_opens_each_section_that_the_licence_covers(account, sections, ask):
    scoped(account, sections["/archive/*"], sections["/premium/*"])
    token = token_for(account)
    for section in ("/archive/a", "/premium/c1.html"):
        for host in ("pub.example", "www.pub.example"):
            reply = ask(section, authorization=f"License {token}", x_forwarded_host=host)
            assert (told(reply), reply.headers["X-Access-Requester"]) == ((200, "allow", None), "org_acme")
    folders = {url.partition(".example")[2] for url in claims_of(token)["aud"]}
    assert folders == {"/archive", "/premium"}
    assert told(ask("/elsewhere", authorization=f"License {token}")) == (403, "deny", "insufficient_scope")


def test_a_section_that_the_licence_does_not_cover_is_refused_as_to_anybody_without_one(account, sections, ask):
    scoped(account, sections["/archive/*"])
    sent = {"authorization": f"License {token_for(account, pattern='/archive/*')}"}
    assert told(ask("/archive/a", **sent)) == (200, "allow", None)
    assert told(ask("/premium/a", **sent)) == (402, "deny", "no_license")


def test_several_licences_count_with_one_token(account, sections, ask):
    scoped(account, sections["/archive/*"])
    scoped(account, sections["/premium/*"])
    sent = {"authorization": f"License {token_for(account)}"}
    assert [told(ask(page, **sent))[0] for page in ("/archive/a", "/premium/a")] == [200, 200]


def test_the_token_names_only_uses_that_the_licence_opens_in_every_section(account, sections):
    uses = {**LICENSED, "permissions": ["read", "search"]}
    rules = {"/archive/*": factories.policy(account, LICENSED), "/premium/*": factories.policy(account, uses)}
    factories.site(account, rules, host="two.example")
    factories.license(account)
    licence = published("/premium/*", host="two.example")[0]
    client = factories.license_client(account)
    reply = ask_token(*client, resource="https://two.example/*", license=licence)
    assert claims_of(reply.json()["access_token"])["scope"] == "search"


def test_a_site_is_no_resource_without_such_sections_or_with_too_many(account, sections):
    factories.license(account)
    client = factories.license_client(account)
    terms = published()[0]
    factories.site(account, {"/news/*": factories.policy(account, READERS)}, host="open.example")
    reply = ask_token(*client, resource="https://open.example/*", license=terms)
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_resource")
    policy = factories.policy(account, LICENSED)
    rules = {f"/section-{number}/*": policy for number in range(27)}
    factories.site(account, dict(list(rules.items())[:25]), host="some.example")
    factories.site(account, rules, host="many.example")
    reply = ask_token(*client, resource="https://some.example/*", license=terms)
    assert len(reply.json()["access_token"]) < 3_600  # a cookie has 4,096 bytes
    reply = ask_token(*client, resource="https://many.example/*", license=terms)
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_resource")
    assert "too many sections" in reply.json()["error_description"]


def test_a_reader_without_a_valid_licence_gets_no_token_for_the_site(account, sections):
    factories.license(account, "org_other")
    reply = ask_token(*factories.license_client(account), resource=WHOLE_SITE)
    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized_client")
    reply = ask_token(*factories.license_client(account, "org_other"), resource=WHOLE_SITE, license="<license/>")
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_license")

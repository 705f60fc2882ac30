from datetime import timedelta

import jwt
import pytest
from django.test import Client
from django.utils import timezone

from analytics.models import Grant
from analytics.wallets.services import void_grant
from licensing.clients.services import revoke_client
from licensing.licenses.services import revoke_license
from licensing.sites.models import Site
from licensing.sites.services import set_verified
from tests import factories
from tests.edge.asking import LICENSED
from tests.edge.tokens import ask_token, basic, claims_of, introspect, published


@pytest.fixture
def licensed(account, site):
    site(LICENSED)
    return factories.license(account)


@pytest.fixture
def client(account, licensed):
    return factories.license_client(account)


def refused(reply):
    return reply.status_code, reply.json()["error"]


def test_a_token_is_bound_to_the_licence_the_client_and_the_pages_and_its_key_is_in_the_whole_set(
    client, licensed, settings
):
    settings.BASE_URL = "https://licensing.example"
    reply = ask_token(*client)
    assert reply.status_code == 200
    assert (reply.json()["token_type"], reply.json()["expires_in"]) == ("License", 3600)
    assert reply.headers["Cache-Control"] == "no-store"
    claims = claims_of(reply.json()["access_token"])
    assert claims["iss"] == "https://licensing.example"
    assert (claims["license_id"], claims["client_id"], claims["sub"]) == (licensed.pk, client[0].pk, "org_acme")
    assert claims["aud"] == ["https://pub.example/premium", "http://pub.example/premium"]
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["scope"] == "search ai-index ai-input ai-train"
    token = ask_token(*client).json()["access_token"]
    kid = jwt.get_unverified_header(token)["kid"]
    for path in ("/.well-known/jwks.json", "/.well-known/jwks.json/platform", "/olp/jwks.json"):
        [key] = [one for one in Client().get(path).json()["keys"] if one["kid"] == kid]
        assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")


def test_the_document_says_where_the_server_is(licensed, settings):
    settings.BASE_URL = "https://licensing.example"
    assert published()[1] == "https://licensing.example/olp"
    settings.BASE_URL = ""
    settings.ALLOWED_HOSTS = [".example"]
    assert published()[1] == "http://pub.example/olp"
    settings.ALLOWED_HOSTS = ["licensing.internal"]
    assert published()[1] is None


def test_a_token_ends_with_its_licence(account, site):
    site(LICENSED)
    factories.license(account, expires_at=timezone.now() + timedelta(seconds=90))
    assert 80 <= ask_token(*factories.license_client(account)).json()["expires_in"] <= 90


@pytest.mark.parametrize("scope", ["content_ids", "tags", "policy_ids"])
def test_a_licence_for_some_items_opens_their_pattern(account, site, scope):
    site(LICENSED)
    policy = factories.policy(account)
    item = factories.content(account, source="https://pub.example/premium/a", policy_id=policy.pk, tags=["fish"])
    named = {"content_ids": [item.pk], "tags": ["fish"], "policy_ids": [policy.pk]}
    held = factories.license(account, **{scope: named[scope]})
    assert claims_of(ask_token(*factories.license_client(account)).json()["access_token"])["license_id"] == held.pk


def test_requests_may_be_written_in_other_ways(client):
    spelled = published()[0].replace("ns0:", "rsl:").replace("xmlns:ns0", "xmlns:rsl").replace("><", "> \n <")
    assert ask_token(*client, license=spelled).status_code == 200
    made, secret = client
    body = {"grant_type": "client_credentials", "resource": "https://pub.example/premium/*",
            "license": published()[0], "client_id": made.pk, "client_secret": secret}  # fmt: skip
    assert Client().post("/olp/token", body, content_type="application/json").status_code == 200
    reply = ask_token(*client, resource="https://pub.example/premium/a?x=1")
    assert claims_of(reply.json()["access_token"])["aud"][0] == "https://pub.example/premium/a"
    reply = ask_token(*client, resource="https://PUB.example.:8443/premium/*")
    assert claims_of(reply.json()["access_token"])["aud"][0] == "https://pub.example:8443/premium"


def test_invalid_requests_get_errors_of_oauth(client, account, db, other_account):
    for fields, error in [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"resource": None}, "invalid_request"),
        ({"resource": "https://other.example/premium/*"}, "invalid_resource"),
        ({"resource": "https://pub.example/open/*"}, "invalid_resource"),
        ({"resource": "/premium/*"}, "invalid_resource"),
        ({"resource": "https://[pub.example/premium/*"}, "invalid_resource"),
        ({"license": None}, "invalid_request"),
        ({"license": "<license"}, "invalid_license"),
        ({"license": "<!DOCTYPE x><license/>"}, "invalid_license"),
        ({"license": '<license xmlns="https://rslstandard.org/rsl"/>'}, "invalid_license"),
        ({"license_type": "text/plain"}, "invalid_license"),
    ]:
        assert refused(ask_token(*client, **fields)) == (400, error)
    made, secret = client
    twice = "grant_type=client_credentials&resource=https://pub.example/premium/*&resource=x"
    headers = {"Authorization": basic(made.pk, secret)}
    form = "application/x-www-form-urlencoded"
    assert refused(Client().post("/olp/token", twice, content_type=form, headers=headers)) == (400, "invalid_request")
    assert refused(ask_token(client[0], factories.key_text(account))) == (401, "invalid_client")
    reply = Client().get("/olp/token")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "POST")
    factories.license(other_account)
    assert refused(ask_token(*factories.license_client(other_account))) == (400, "invalid_resource")


def test_wrong_credentials_are_401_with_a_challenge(client, account):
    made, secret = client
    other, _ = factories.license_client(account)
    reply = ask_token(other, secret)
    assert refused(reply) == (401, "invalid_client")
    assert reply.headers["WWW-Authenticate"].startswith("Basic ")
    assert refused(Client().post("/olp/token", {})) == (400, "invalid_request")  # OAuth does not allow multipart
    revoke_client(made)
    assert refused(ask_token(made, secret)) == (401, "invalid_client")


def test_a_client_without_a_licence_or_credit_gets_no_token(account, client, licensed):
    factories.wallet(account, "access", 1, requester_id="org_acme")
    assert ask_token(*client).status_code == 200
    grant = Grant.objects.get()
    void_grant(grant.wallet, grant.pk)
    assert refused(ask_token(*client)) == (402, "payment_required")
    stranger = factories.license_client(account, "org_other")
    assert refused(ask_token(*stranger)) == (401, "unauthorized_client")
    revoke_license(licensed)
    assert refused(ask_token(*client)) == (401, "unauthorized_client")


def test_a_host_of_two_accounts_has_tokens_only_from_those_that_verified_it(account, other_account, client):
    factories.license(other_account)
    policy = factories.policy(other_account, LICENSED)
    theirs = factories.site(other_account, {"/premium/*": policy}, host="pub.example")
    their_client = factories.license_client(other_account)
    own_key, their_key = factories.key_text(account), factories.key_text(other_account)
    own_terms, their_terms = published(key=own_key)[0], published(key=their_key)[0]
    for each, terms in ((client, own_terms), (their_client, their_terms)):
        reply = ask_token(*each, license=terms)
        assert refused(reply) == (400, "invalid_resource")
        assert "verify the host" in reply.json()["error_description"]
    set_verified(Site.objects.get(account=account), is_verified=True)
    assert claims_of(ask_token(*client, license=own_terms).json()["access_token"])["account_id"] == account.pk
    assert refused(ask_token(*their_client, license=their_terms)) == (400, "invalid_resource")
    set_verified(theirs, is_verified=True)
    assert claims_of(ask_token(*their_client, license=their_terms).json()["access_token"])["account_id"] != account.pk


def test_only_the_client_and_the_publisher_of_the_pages_learn_of_a_valid_token(
    account, other_account, client, licensed
):
    token = ask_token(*client).json()["access_token"]
    key = f"Bearer {factories.key_text(account, permissions=['access:check'])}"
    assert introspect(key, token=token).json()["active"]
    assert introspect(key, token=token, resource="https://pub.example/premium/a").json()["active"]
    assert not introspect(key, token=token, resource="https://pub.example/other").json()["active"]
    assert not introspect(f"Bearer {factories.key_text(other_account)}", token=token).json()["active"]
    lesser = f"Bearer {factories.key_text(account, permissions=['content:read'])}"
    assert refused(introspect(lesser, token=token)) == (401, "invalid_client")
    told = introspect(basic(client[0].pk, client[1]), token=token).json()
    assert {"active": True, "client_id": client[0].pk, "license_id": licensed.pk}.items() <= told.items()
    assert {"scope", "aud", "iss", "iat", "nbf", "exp", "jti"} <= told.keys()
    other, secret = factories.license_client(account)
    assert introspect(basic(other.pk, secret), token=token).json() == {"active": False}
    key = f"Bearer {factories.key_text(account)}"
    assert introspect(key, token=f"{token}x").json() == {"active": False}
    revoke_license(licensed)
    assert introspect(key, token=token).json() == {"active": False}

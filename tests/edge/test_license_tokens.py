from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from django.core.management import call_command
from django.utils import timezone

from accounts.models import ApiKey
from accounts.plans.services import update_account
from analytics.models import LedgerEntry
from licensing.access.tokens import signing
from licensing.access.tokens.models import Algorithm
from licensing.clients.services import revoke_client
from licensing.licenses.services import revoke_license, update_license
from tests import factories
from tests.edge.asking import LICENSED, event, told
from tests.edge.tokens import ask_token


@pytest.fixture
def held(account, site):
    site(LICENSED, factories.DENY_ALL, unknown="deny")
    return factories.license(account, per_access="0.05")


@pytest.fixture
def client(account, held):
    return factories.license_client(account)


@pytest.fixture
def token(client):
    return ask_token(*client).json()["access_token"]


@pytest.fixture
def visit(ask, token):
    return lambda uri="/premium/a", sent=None, **headers: ask(
        uri, **{"authorization": f"License {sent or token}", **headers}
    )


def signed(token, **changes):
    """Return the token with other claims, signed with the service's own key."""
    claims = {**jwt.decode(token, options={"verify_signature": False}), **changes}
    return signing.current_signer(Algorithm.ES256).sign(claims)


def test_a_token_is_let_in_as_its_requester_and_charged(visit, ask):
    assert visit(x_forwarded_method="HEAD").status == 200
    assert not LedgerEntry.objects.exists()
    assert ask("/premium/a").status == 402
    reply = visit()
    assert told(reply) == (200, "allow", None)
    assert reply.headers["X-Access-Requester"] == "org_acme"
    assert event(reply).requester.requester_id == "org_acme"
    [entry] = LedgerEntry.objects.all()
    assert (str(entry.amount), entry.decision_id) == ("0.050000", reply.headers["X-Access-Id"])


def test_revocation_of_the_licence_holds_in_the_next_request(visit, held):
    assert visit().status == 200
    revoke_license(held)
    reply = visit()
    assert told(reply) == (401, "deny", "invalid_token")
    assert reply.headers["WWW-Authenticate"].startswith('License error="invalid_token"')
    assert 'rel="license"' in reply.headers["Link"]


def test_revocations_hold_in_the_next_request(visit, client, held):
    assert visit().status == 200
    revoke_client(client[0])
    assert told(visit()) == (401, "deny", "invalid_token")
    update_license(held, {"starts_at": timezone.now() - timedelta(days=2),
                          "expires_at": timezone.now() - timedelta(days=1)})  # fmt: skip
    assert told(visit()) == (401, "deny", "invalid_token")


def test_invalid_tokens_are_refused(visit, token, ask, site, api, account, other_account):
    reply = visit(sent=signed(token, exp=int(timezone.now().timestamp()) - 1))
    assert told(reply) == (401, "deny", "invalid_token")
    assert reply.error["message"] == "The licence token has expired."
    kid = jwt.get_unverified_header(token)["kid"]
    claims = jwt.decode(token, options={"verify_signature": False})
    foreign = jwt.encode(claims, generate_private_key(SECP256R1()), algorithm="ES256", headers={"kid": kid})
    assert told(visit(sent=foreign)) == (401, "deny", "invalid_token")
    reply = visit(sent=jwt.encode(claims, "x" * 32, algorithm="HS256"))
    assert reply.status == 401
    assert reply.headers["WWW-Authenticate"].startswith('License error="invalid_request"')
    for sent in ["abc", "a.b.c", "", "x" * 5000]:
        site(LICENSED)
        assert told(ask("/premium/a", authorization=f"License {sent}")) == (401, "deny", "invalid_token")
    item = factories.content(account, policy_id=factories.policy(account).pk)
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme", "sign": True})["token"]
    assert visit(sent=decision).status == 401
    factories.site(other_account, {"/premium/*": factories.policy(other_account)}, host="pub.example")
    theirs = factories.key_text(other_account)
    reply = ask("/premium/a", x_licensing_key=theirs, authorization=f"License {token}")
    assert told(reply) == (401, "deny", "invalid_token")


def test_a_token_for_other_pages_is_403(visit, account):
    update_account(account, {"unknown_host": "deny"})
    for uri in ("/other", "/premium-evil", "/premium/%2e%2e/other"):
        reply = visit(uri)
        assert told(reply) == (403, "deny", "insufficient_scope")
        assert reply.headers["WWW-Authenticate"].startswith('License error="insufficient_scope"')
    assert told(visit(x_forwarded_host="other.example")) == (403, "deny", "insufficient_scope")


def test_a_rotated_key_verifies_until_its_overlap_ends(visit, token, forwards):
    call_command("rotate_signing_key", algorithm="ES256", verbosity=0)
    assert visit().status == 200
    call_command("rotate_signing_key", algorithm="ES256", overlap_seconds=0, verbosity=0)
    forwards.gateway.license_keys.kept.clear()
    assert visit().status == 200  # of the day's overlap
    signing.SigningKey.objects.filter(active=False).update(retires_at=timezone.now())
    forwards.gateway.license_keys.kept.clear()
    assert visit().status == 401


def test_the_presented_licence_counts_where_it_covers_the_page(visit, account):
    factories.license(account, license_type="enterprise", per_access="9", starts_at=timezone.now() - timedelta(days=9))
    visit()
    assert [str(entry.amount) for entry in LedgerEntry.objects.all()] == ["0.050000"]


def test_a_claimed_crawler_is_limited_to_its_class_despite_a_token(ask, account, site):
    site({**LICENSED, "permissions": ["read"]})
    factories.license(account)
    token = ask_token(*factories.license_client(account)).json()["access_token"]
    sent = {"authorization": f"License {token}"}
    assert ask("/premium/a", **sent).status == 200
    assert told(ask("/premium/a", user_agent="GPTBot/1.0", **sent)) == (403, "deny", "permission_not_granted")


@pytest.fixture
def check(account, client, connect):
    """Return a function that checks an item by URL with a licence token and an API key."""
    policy = factories.policy(account, LICENSED, factories.DENY_ALL)
    factories.content(account, source="https://pub.example/premium/a", policy_id=policy.pk)
    key = factories.key_text(account, permissions=["access:check"])
    anonymous = connect(None)

    def send(token, path="/v1/access/check", key=key, once=None, **fields):
        headers = {"Authorization": f"License {token}", **({"X-Licensing-Key": key} if key else {})}
        headers |= {"Idempotency-Key": once} if once else {}
        return anonymous.post(path, {"source": "https://pub.example/premium/a", **fields}, headers=headers)

    return send


def test_a_check_with_a_token_is_its_requesters_while_its_licence_lasts(check, token, held):
    reply = check(token)
    assert reply.status == 200
    assert (reply["allowed"], reply["requester"]["id"], reply["license"]["id"]) == (True, "org_acme", held.pk)
    assert reply["charge"] == {"amount": 0.05, "currency": "USD"}
    batch = check(token, "/v1/access/check/batch", checks=[{}, {"correlationId": "b"}])
    assert [one["allowed"] for one in batch["data"]] == [True, True]
    assert check(token)["allowed"]
    revoke_license(held)
    reply = check(token)
    assert reply.status_and_code == (401, "invalid_token")
    assert reply.headers["WWW-Authenticate"].startswith('License error="invalid_token"')


def test_a_check_with_a_token_needs_its_key_and_address(check, token, account):
    policy = factories.policy(account, LICENSED)
    item = factories.content(account, source="https://pub.example/other", policy_id=policy.pk)
    assert check(token, source="https://pub.example/other").error["code"] == "insufficient_scope"
    assert check(token, source=None, contentId=item.pk).error["param"] == "contentId"
    assert check(token, requester="org_other").error["param"] == "requester"
    assert check(f"{token}x").error["code"] == "invalid_token"
    assert check(token, key=None).error["code"] == "missing_api_key"
    ApiKey.objects.update(permissions=["content:read"])
    assert check(token).error["code"] == "insufficient_permissions"


def test_a_retry_with_another_token_is_another_request(check, token, account):
    factories.license(account, "org_other")
    theirs = ask_token(*factories.license_client(account, "org_other")).json()["access_token"]
    first = check(token, once="a")
    assert check(token, once="a").body == first.body
    assert check(theirs, once="a").error["code"] == "idempotency_mismatch"

import base64
import json
import shutil
import subprocess
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from licensing.access.tokens import signing
from licensing.access.tokens.models import SigningKey
from licensing.access.tokens.signing import current_signer, forget_signer
from tests import factories

ISSUERS = ["http://testserver", "http://localhost"]  # the service's address in the test clients

VERIFY = """
const [keys, token] = JSON.parse(require("fs").readFileSync(0));
const [head, body, signature] = token.split(".");
const bytes = (text) => Buffer.from(text, "base64url");
const { kid } = JSON.parse(bytes(head));
const jwk = keys.find((key) => key.kid === kid);
(async () => {
  const key = await crypto.subtle.importKey("jwk", jwk, { name: "Ed25519" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${head}.${body}`);
  console.log(await crypto.subtle.verify("Ed25519", key, bytes(signature), signed));
})();
"""


@pytest.fixture
def check(api, item):
    def send(**fields: Any):
        named = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER, "sign": True}
        return api.post("/v1/access/check", {**named, **fields})

    return send


def published() -> list[dict[str, str]]:
    reply = Client().get("/.well-known/jwks.json")
    assert reply.status_code == 200
    return json.loads(reply.content)["keys"]


def verified(token: str, audience: str, **options: Any) -> dict[str, Any]:
    kid = jwt.get_unverified_header(token)["kid"]
    [key] = [one for one in published() if one["kid"] == kid]
    return jwt.decode(token, jwt.PyJWK(key), algorithms=["EdDSA"], audience=audience, issuer=ISSUERS, **options)


def test_the_token_of_an_allowed_check_has_its_claims_of_which_one_names_the_service(check, item, settings):
    reply = check(permission="commercial_use")
    claims = verified(reply["token"], item.pk)
    assert claims == {
        "iss": claims["iss"], "sub": "org_acme", "aud": item.pk, "jti": reply["id"], "allowed": True,
        "permission": "commercial_use", "permissions": ["full_access"], "policyId": item.policy_id,
        "iat": int(datetime.fromisoformat(reply["created"]).timestamp()), "exp": claims["iat"] + reply["cacheFor"],
    }  # fmt: skip
    assert jwt.get_unverified_header(reply["token"])["alg"] == "EdDSA"
    first = check()
    assert verified(first["token"], item.pk)["jti"] == first["id"]
    settings.BASE_URL = "https://licensing.example"
    token = check()["token"]
    assert jwt.decode(token, options={"verify_signature": False})["iss"] == "https://licensing.example"


def test_a_denial_is_signed_too_and_names_its_permission(check, item, api):
    reply = check(requester="org_other")
    claims = verified(reply["token"], item.pk)
    assert (reply["allowed"], claims["allowed"], claims["permissions"]) == (False, False, [])
    assert claims["sub"] == "org_other"
    assert verified(check()["token"], item.pk)["permission"] is None
    checks = [{}, {"permission": "ai_training"}]
    body = {"contentId": item.pk, "requester": "org_acme", "permission": "read", "sign": True, "checks": checks}
    data = api.post("/v1/access/check/batch", body)["data"]
    assert [verified(one["token"], item.pk)["permission"] for one in data] == ["read", "ai_training"]


def test_checks_are_signed_on_request_and_not_in_dry_runs(check, api, item):
    assert "token" not in check(sign=False).body
    assert "token" not in check(sign=None).body
    assert SigningKey.objects.count() == 0
    checks = [{}, {"sign": False}, {"requester": "org_b"}, {"contentId": "cnt_" + "0" * 26}]
    body = {"contentId": item.pk, "requester": "org_a", "sign": True, "checks": checks}
    data = api.post("/v1/access/check/batch", body)["data"]
    assert ["token" in one for one in data] == [True, False, True, False]
    assert [verified(data[n]["token"], item.pk)["jti"] for n in (0, 2)] == [data[0]["id"], data[2]["id"]]
    assert check(dryRun=True).status_and_param == (422, "sign")
    body = {"contentId": item.pk, "requester": "org", "dryRun": True, "checks": [{}, {"sign": True}]}
    assert api.post("/v1/access/check/batch", body).error["param"] == "checks[1].sign"
    assert check(sign="true").error["param"] == "sign"


def altered(token: str, part: int, change: Any) -> str:
    parts = token.split(".")
    raw = json.loads(base64.urlsafe_b64decode(parts[part] + "=="))
    parts[part] = base64.urlsafe_b64encode(json.dumps({**raw, **change}).encode()).decode().rstrip("=")
    return ".".join(parts)


def test_a_forged_token_is_refused(check, item):
    token = check(requester="org_other")["token"]
    for changed in (altered(token, 1, {"allowed": True}), altered(token, 1, {"exp": 2**40}), token[:-6] + "AAAAAA"):
        with pytest.raises(jwt.InvalidSignatureError):
            verified(changed, item.pk)
    token = check()["token"]
    bare = altered(token, 0, {"alg": "none"}).rpartition(".")[0] + "."
    with pytest.raises(jwt.InvalidTokenError):
        verified(bare, item.pk)
    claims = jwt.decode(token, options={"verify_signature": False})
    headers = {"kid": jwt.get_unverified_header(token)["kid"]}
    foreign = jwt.encode(claims, Ed25519PrivateKey.generate(), algorithm="EdDSA", headers=headers)
    with pytest.raises(jwt.InvalidSignatureError):
        verified(foreign, item.pk)


def test_a_token_of_another_time_item_or_issuer_is_refused(check, item, monkeypatch, settings):
    late = timezone.now() - timedelta(seconds=61)
    monkeypatch.setattr("django.utils.timezone.now", lambda: late)
    token = check()["token"]
    monkeypatch.undo()
    with pytest.raises(jwt.ExpiredSignatureError):
        verified(token, item.pk)
    with pytest.raises(jwt.InvalidAudienceError):
        verified(check()["token"], "cnt_" + "0" * 26)
    settings.BASE_URL = "https://elsewhere.example"
    with pytest.raises(jwt.InvalidIssuerError):
        verified(check()["token"], item.pk)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, whose WebCrypto verifies")
def test_webcrypto_verifies_a_token_and_refuses_a_changed_one(check):
    def says(token: str) -> str:
        done = subprocess.run(
            ["node", "-e", VERIFY], input=json.dumps([published(), token]), capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    token = check()["token"]
    assert (says(token), says(altered(token, 1, {"allowed": False}))) == ("true", "false")


def rotate(*arguments: str) -> dict[str, str]:
    out = StringIO()
    call_command("rotate_signing_key", *arguments, "--json", stdout=out)
    forget_signer()
    return json.loads(out.getvalue().splitlines()[-1])


def test_after_a_rotation_tokens_of_both_keys_verify_for_the_overlap(check, item):
    before = check()["token"]
    key = rotate("--overlap-seconds", "3600")
    after = check()["token"]
    assert jwt.get_unverified_header(after)["kid"] == key["kid"] == published()[0]["kid"]
    assert jwt.get_unverified_header(before)["kid"] != key["kid"]
    assert verified(before, item.pk)["allowed"] == verified(after, item.pk)["allowed"] is True
    SigningKey.objects.filter(active=False).update(retires_at=timezone.now())
    assert [one["kid"] for one in published()] == [key["kid"]]
    key = rotate("--overlap-seconds", "0")
    assert [one["kid"] for one in published()] == [key["kid"]]
    with pytest.raises(CommandError, match="overlap-seconds"):
        rotate("--overlap-seconds", "-1")


def test_all_sign_with_one_sealed_key_that_may_be_rotated_before_the_first_signature(check):
    key = rotate()
    assert jwt.get_unverified_header(check()["token"])["kid"] == key["kid"]
    kids = {jwt.get_unverified_header(check()["token"])["kid"] for _ in range(3)}
    assert kids == {signing.make_first().pk}
    [row] = SigningKey.objects.all()
    assert current_signer().private.private_bytes_raw() not in bytes(row.private)
    assert "private" not in repr(current_signer())
    assert set(published()[0]) == {"kty", "crv", "x", "kid", "use", "alg"}


@pytest.fixture
def unusable_key(check):
    """A signing key that was sealed by another secret."""
    check()
    SigningKey.objects.update(private=b"sealed by another secret")
    forget_signer()


@pytest.mark.usefixtures("unusable_key")
def test_a_key_that_cannot_be_opened_is_a_503_and_leaves_no_decision(check, api, item):
    recorded = api.get("/v1/access/decisions")["totalCount"]
    assert check().status == 503
    body = {"contentId": item.pk, "requester": "org_a", "sign": True, "checks": [{}, {}]}
    assert api.post("/v1/access/check/batch", body).status == 503
    assert api.get("/v1/access/decisions")["totalCount"] == recorded
    rotate()
    assert check().status == 200


@pytest.mark.usefixtures("unusable_key")
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_a_key_that_cannot_be_opened_fails_only_the_checks_of_a_batch_that_are_to_be_signed(
    api, item, caplog, headers
):
    recorded = api.get("/v1/access/decisions")["totalCount"]
    checks = [{}, {"sign": True, "correlationId": "b"}, {"requester": "org_b"}]
    body = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER, "checks": checks}
    first, signed, last = api.post("/v1/access/check/batch", body, headers=headers)["data"]
    assert (first["requester"]["id"], last["requester"]["id"]) == ("org_acme", "org_b")
    assert (signed["allowed"], signed["correlationId"]) == (False, "b")
    assert signed["error"]["code"] == "service_unavailable"
    assert api.get("/v1/access/decisions")["totalCount"] == recorded + 2
    assert "manage.py rotate_signing_key --algorithm EdDSA --overlap-seconds 0" in caplog.text


def test_uncacheable_decisions_are_signed_for_5_seconds(api, account):
    policy = factories.policy(account, {**factories.ALLOW_ALL, "rateLimit": {"requests": 1, "period": "month"}}).pk
    item = factories.content(account, policy_id=policy).pk
    reply = api.post("/v1/access/check", {"contentId": item, "requester": "org", "sign": True})
    claims = verified(reply["token"], item)
    assert (reply["cacheFor"], claims["exp"] - claims["iat"]) == (0, 5)
    item = factories.content(account, policy_id=factories.policy(account).pk).pk
    factories.license(account, "org")
    wallet = api.post("/v1/wallets", {"requesterId": "org", "unit": "access"})["id"]
    api.post(f"/v1/wallets/{wallet}/grants", {"amount": 10})
    check = {"contentId": item, "requester": "org", "sign": True}
    single = api.post("/v1/access/check", check).body
    [batched, _] = api.post("/v1/access/check/batch", {**check, "checks": [{}, {}]})["data"]
    for reply in (single, batched):
        claims = verified(reply["token"], item)
        assert (reply["allowed"], reply["cacheFor"], claims["exp"] - claims["iat"]) == (True, 0, 5)

import time
from base64 import b64encode
from contextlib import suppress
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from asgiref.sync import async_to_sync
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, algorithms

from accounts.limits.limiter import limiter
from accounts.limits.windows import DAY
from accounts.plans.services import update_account
from analytics.models import LedgerEntry
from kit.http.headers import LIMITS
from licensing.access.event_loop.head import Head
from licensing.access.tokens.signing import encode_base64url
from licensing.edge.application import ForwardApplication
from licensing.edge.crawlers import Crawler, Table
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import Original
from licensing.edge.verification import signatures
from licensing.edge.verification.directories import thumbprint
from licensing.edge.verification.signatures import InvalidSignature, KnownKey, Message, Signatures, verify_signature
from licensing.licenses.services import revoke_license
from tests import factories
from tests.edge.asking import READERS, told
from tests.edge.signers import AGENT, answering, published, read, signed

FOR_SIGNER = {**READERS, "priority": 1, "conditions": {"requesterId": "agent:signer.example"}}
PRICED = {**READERS, "pricePerAccess": {"amount": "0.01", "currency": "USD"}}

# RFC 9421, B.1.4 and B.2.6.
X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
PUBLIC = Ed25519PublicKey.from_public_bytes(
    bytes.fromhex("26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb")
)
OTHER = Ed25519PrivateKey.generate()  # of another signer
THUMBPRINT = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


@pytest.fixture
def forwards(application, settings, directories):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    return ForwardApplication(application.gateway, directories)


def test_the_examples_of_rfc_9421_and_its_thumbprint_verify():
    message = Message(
        "POST",
        "https://example.com/foo?param=Value&Pet=dog",
        {
            "date": "Tue, 20 Apr 2021 02:07:55 GMT",
            "content-type": "application/json",
            "content-length": "18",
            "signature-input": 'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length")'
            ';created=1618884473;keyid="test-key-ed25519"',
            "signature": "sig-b26="
            ":wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
        },
    )
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=KnownKey(PUBLIC))
    [result] = verifier.verify(message, max_age=None)
    assert result.parameters["keyid"] == "test-key-ed25519"
    assert encode_base64url(PUBLIC.public_bytes_raw()) == X
    assert thumbprint(PUBLIC.public_bytes_raw()) == THUMBPRINT


# draft-meunier-web-bot-auth-architecture, its vectors in the dictionary's form and in the older one.
DICTIONARY = {
    "signature-agent": 'agent2="https://signature-agent.test"',
    "signature-input": 'sig2=("@authority" "signature-agent";key="agent2");created=1735689600'
    f';keyid="{THUMBPRINT}";alg="ed25519";expires=4889289600'
    ';nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="'
    ';tag="web-bot-auth"',
    "signature": "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:",
}
STRING = {
    "signature-agent": '"https://signature-agent.test"',
    "signature-input": f'sig2=("@authority" "signature-agent");created=1735689600;keyid="{THUMBPRINT}";alg="ed25519"'
    ';expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="'
    ';tag="web-bot-auth"',
    "signature": "sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:",
}


@pytest.mark.parametrize(
    ("headers", "component"),
    [(DICTIONARY, '"signature-agent";key="agent2"'), (STRING, '"signature-agent"')],
    ids=["dictionary", "string"],
)
def test_the_examples_of_the_draft_verify(monkeypatch, headers, component):
    monkeypatch.setattr(HTTPMessageVerifier, "validate_created_and_expires", lambda *_, **__: None)  # they are of 2025
    message = Message("GET", "https://example.com/path/to/resource", headers)
    assert verify_signature(message, "sig2", ('"@authority"', component), PUBLIC, max_age=None).nonce is not None


def test_a_signer_is_identified_by_the_host_of_its_directory(ask, site):
    site(READERS)
    reply = ask("/premium/a", **signed())
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "agent:signer.example")
    reply = ask("/premium/a", **signed(agent=f'"{AGENT}"', component='"signature-agent"'))
    assert reply.headers["X-Access-Requester"] == "agent:signer.example"
    reply = ask("/premium/a", **signed(agent=f'sig1="{AGENT}/";type=directory'))
    assert reply.headers["X-Access-Requester"] == "agent:signer.example"
    headers = {name: value.replace("sig1=(", "sig9=(").replace("sig1=:", "sig9=:") for name, value in signed().items()}
    assert headers["Signature_Agent"].startswith("sig1=")
    assert ask("/premium/a", **headers).headers["X-Access-Requester"] == "agent:signer.example"
    headers = signed(target='"@target-uri"', url="https://pub.example/premium/a?page=2")
    assert ask("/premium/a?page=2", **headers).headers["X-Access-Requester"] == "agent:signer.example"
    other_page = ask("/premium/a?page=3", **headers)  # open to everybody
    assert (other_page.status, other_page.headers["X-Access-Requester"]) == (200, "anonymous")
    assert ask("/premium/a", **signed(tag="other")).headers["X-Access-Requester"] == "anonymous"
    headers = signed()
    others = {"Signature_Input": ', other=("@method");tag="other"', "Signature": ", other=:YQ==:"}
    reply = ask("/premium/a", **{name: value + others.get(name, "") for name, value in headers.items()})
    assert reply.headers["X-Access-Requester"] == "agent:signer.example"


def test_a_known_crawler_is_verified_by_its_directory_and_pays(ask, site, monkeypatch):
    own = Crawler("TestBot", "ai_training", "T", "TestBot", signature_agent="signer.example")
    monkeypatch.setattr(type(current_table), "get", lambda self: Table(date.today(), (own,)))  # noqa: DTZ011
    site({**READERS, "permissions": ["ai_training"]})
    reply = ask("/premium/a", user_agent="Anything/1.0", **signed())
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "crawler:testbot")
    site({**PRICED, "permissions": ["ai_training"]})
    price = {"crawler-max-price": "USD 1"}
    reply = ask("/premium/a", **signed(covered=('"crawler-max-price"',), **price))
    assert (reply.status, reply.headers["crawler-charged"]) == (200, "USD 0.01")


def test_a_licence_of_the_signer_opens_the_page(ask, account, site):
    site({**READERS, "conditions": {"hasValidLicense": True}})
    assert ask("/premium/a", **signed()).status == 402
    factories.license(account, "agent:signer.example")
    assert ask("/premium/a", **signed()).status == 200


def test_the_first_sight_is_unverified_and_its_directory_is_fetched(ask, site, directories, monkeypatch):
    site(READERS)
    wanted = []
    monkeypatch.setattr(directories, "refresh", lambda origin, address: wanted.append((origin, address)))
    other = 'sig1="https://other.example"'
    assert ask("/premium/a", **signed(agent=other)).headers["X-Access-Requester"] == "anonymous"
    assert wanted == [("https://other.example", "203.0.113.9")]


CHANGES = {
    "expired": {"age": 400},
    "made in the future": {"age": -60},
    "without an end": {"life": 0},
    "longer than a day": {"life": 90_000},
    "for another host": {"url": "https://other.example/premium/a"},
    "by another key": {"key": Ed25519PrivateKey.generate()},
    "not covering who signs": {"component": None},
    "for another path, which it covers": {"covered": ('"@path"',), "url": "https://pub.example/other"},
    "by another method, which it covers": {"covered": ('"@method"',), "method": "POST"},
    "for no host": {"target": '"@method"'},
}


def test_signatures_are_refused_that_are_out_of_date_or_for_something_else(ask, site):
    site(FOR_SIGNER, factories.DENY_ALL)
    for name, changes in CHANGES.items():
        reply = ask("/premium/a", **signed(**changes))
        assert told(reply) == (400, "deny", "invalid_signature"), name
        assert reply.headers["crawler-error"] == "InvalidSignature", name


def test_a_replayed_nonce_is_refused_and_uses_up_none_of_another_signers(ask, site, directories):
    both = ["agent:signer.example", "agent:browser.example"]
    site({**FOR_SIGNER, "conditions": {"requesterId": both}}, factories.DENY_ALL)
    directories.fetch = answering(published(OTHER.public_key().public_bytes_raw()))
    read(directories, "https://browser.example")
    once = {"nonce": b64encode(b"once").decode()}
    for headers in (signed(**once), relabelled("browser", agent="https://browser.example", key=OTHER, **once)):
        assert ask("/premium/a", **headers).status == 200
        assert told(ask("/premium/a", **headers)) == (400, "deny", "invalid_signature")


def test_a_nonce_used_before_midnight_is_refused_after_it_in_another_process(clock):
    clock.set("2026-03-04T23:59:50Z")
    expires = int(clock.timestamp()) + DAY

    async def consume(consume):
        return limiter.consume(consume)

    def use_in_new_process(nonce):
        callers = SimpleNamespace(limits=SimpleNamespace(submit=consume))
        async_to_sync(Signatures(callers, SimpleNamespace()).use)("key", nonce, expires)

    use_in_new_process("nonce")
    for seconds in (5, 10, DAY - 20):
        clock.advance(seconds=seconds)
        with pytest.raises(InvalidSignature):
            use_in_new_process("nonce")
        use_in_new_process(f"another {seconds}")


def test_malformed_headers_are_refused_or_nobodys(ask, site):
    for value in ["", "x", "sig1=1", 'sig1="', "sig1=()" * 2000]:
        site(READERS)
        reply = ask("/premium/a", **{**signed(), "Signature_Input": value})
        assert reply.status in (200, 400)
        assert reply.headers.get("X-Access-Requester", "anonymous") == "anonymous"


def test_an_unlisted_signer_pays_a_signed_price_as_a_customer_or_if_the_account_admits_it(ask, account, site):
    site(PRICED)
    price = {"crawler-max-price": "USD 1"}

    def pay(**headers):
        return ask("/premium/a", **signed(covered=('"crawler-max-price"',), **price), **headers)

    refused = pay()
    assert (refused.status, refused.headers["crawler-error"]) == (400, "StrongAuthRequired")
    assert not LedgerEntry.objects.exists()
    update_account(account, {"unlisted_signers": "pay"})
    assert (pay().status, LedgerEntry.objects.count()) == (200, 1)
    update_account(account, {"unlisted_signers": "deny"})
    assert pay().headers["crawler-error"] == "StrongAuthRequired"
    held = factories.license(account, "agent:signer.example", content_ids=[factories.content(account).pk])
    assert (pay().status, LedgerEntry.objects.count()) == (200, 2)
    revoke_license(held)
    assert pay().headers["crawler-error"] == "StrongAuthRequired"
    factories.wallet(account, requester_id="agent:signer.example")
    assert pay().status == 200
    update_account(account, {"unlisted_signers": "pay"})
    reply = ask("/premium/a", **signed(**price))
    assert (reply.status, reply.headers["crawler-error"]) == (400, "InvalidSignature")
    reply = ask("/premium/a", **signed(covered=('"crawler-max-price"',), **price))
    assert (reply.status, reply.headers["crawler-charged"]) == (200, "USD 0.01")


VECTORS = orjson.loads(Path(__file__).with_name("web_bot_auth_vectors.json").read_bytes())["vectors"]


@pytest.fixture
def published_vectors(site, account, directories, monkeypatch):
    """Serve the page of the published vectors to readers, and the directory of their keys. They live for a century."""
    monkeypatch.setattr(signatures, "MAX_LIFE", timedelta(days=40_000))
    raw = PUBLIC.public_bytes_raw()
    directories.fetch = answering(published(raw))
    read(directories, "https://signature-agent.test")
    factories.site(account, {"/*": factories.policy(account, READERS)}, host="example.com")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['key']['kty']} {vector['signatureAgent']}")
def test_the_published_vectors_are_verified_or_decided_as_unsigned(ask, published_vectors, vector):
    """The service knows no RSA keys, and nobody can be told from a signature without Signature-Agent."""
    reply = ask(
        "/path/to/resource",
        x_forwarded_host="example.com",
        signature=vector["signature"],
        signature_input=vector["signatureInput"],
        signature_agent=vector["signatureAgent"],
    )
    is_verified = vector["key"]["kty"] == "OKP" and vector["signatureAgent"] is not None
    expected = "agent:signature-agent.test" if is_verified else "anonymous"
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, expected)


def test_a_signer_without_a_usable_directory_counts_as_unsigned(ask, site):
    for agent in [
        'sig1="https://signer.example/jwks.json";type=jwks_uri', 'sig1="https://signer.example/card";type=cimd',
        'sig1="https://signer.example";type=something-new', 'sig1="http://signer.example"',
        'sig1="https://signer.example/a"', 'sig1="https://10.0.0.1"', 'sig1="https://127.0.0.1"', "sig1=1",
    ]:  # fmt: skip
        site(FOR_SIGNER, factories.DENY_ALL)
        reply = ask("/premium/a", **signed(agent=agent))
        assert (reply.status, reply.headers["X-Access-Requester"]) == (403, "anonymous")
    site(FOR_SIGNER, factories.DENY_ALL)
    headers = signed(covered=('"x-intent"',), **{"X-Intent": "index"})
    reply = ask("/premium/a", **{**headers, "X_Intent": None})
    assert (reply.status, reply.headers["X-Access-Requester"]) == (403, "anonymous")


def joined(*requests):
    """Return the headers of requests that are signed one after the other, as one request with several signatures."""
    return {name: ", ".join(headers[name] for headers in requests) for name in requests[0]}


def relabelled(label, **fields):
    agent = fields.pop("agent", AGENT)
    return signed(label=label, agent=f'{label}="{agent}"', component=f'"signature-agent";key="{label}"', **fields)


def test_of_several_signatures_the_first_valid_one_counts_and_invalid_ones_alone_are_refused(ask, site, directories):
    site(READERS)
    directories.fetch = answering(published(OTHER.public_key().public_bytes_raw()))
    read(directories, "https://browser.example")
    agent = relabelled("agent")
    browser = relabelled("browser", agent="https://browser.example", key=OTHER)
    unknown = relabelled("unknown", agent="https://unknown.example", key=OTHER)
    expired = relabelled("expired", age=400)
    for requests, expected in [
        ((agent, browser), "agent:signer.example"),
        ((browser, agent), "agent:browser.example"),
        ((unknown, agent), "agent:signer.example"),
        ((expired, agent), "agent:signer.example"),
    ]:
        reply = ask("/premium/a", **joined(*requests))
        assert (reply.status, reply.headers["X-Access-Requester"]) == (200, expected)
    site(FOR_SIGNER, factories.DENY_ALL)
    nobody = relabelled("nobody", agent="https://nobody.example")
    assert told(ask("/premium/a", **joined(nobody, expired))) == (400, "deny", "invalid_signature")


def test_an_outer_signature_over_an_inner_one_is_attributed_to_its_own_signer(ask, site, directories):
    """The example of the draft with a remote browser."""
    site(READERS)
    directories.fetch = answering(published(OTHER.public_key().public_bytes_raw()))
    read(directories, "https://browser.example")
    inner = relabelled("agent", age=400)  # no longer valid
    both = {
        "Signature-Agent": f'{inner["Signature_Agent"]}, browser="https://browser.example"',
        "Signature-Input": inner["Signature_Input"],
        "Signature": inner["Signature"],
    }
    outer = signed(
        label="browser",
        key=OTHER,
        component='"signature-agent";key="browser"',
        covered=('"signature-agent";key="agent"', '"signature-input";key="agent"', '"signature";key="agent"'),
        **both,
    )
    for name in ("Signature_Input", "Signature"):
        outer[name] = f"{inner[name]}, {outer[name]}"
    assert ask("/premium/a", **outer).headers["X-Access-Requester"] == "agent:browser.example"


def test_a_refused_signer_and_an_unverified_crawler_are_asked_for_a_signature(ask, site):
    site(PRICED)
    expected = 'sig1=("@authority" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"'
    for headers in (
        signed(age=400),
        signed(**{"crawler-max-price": "USD 1"}, covered=('"crawler-max-price"',)),
        {"user_agent": "GPTBot/1.0"},
        {"crawler_max_price": "USD 1"},
    ):
        reply = ask("/premium/a", **headers)
        assert (reply.status >= 400, reply.headers.get("Accept-Signature")) == (True, expected)
    assert "Accept-Signature" not in ask("/free", user_agent="GPTBot/1.0").headers
    assert "Accept-Signature" not in ask("/premium/a", **signed()).headers


def test_signature_headers_beyond_their_limits_and_more_signatures_than_are_verified_are_refused(ask, site):
    site(FOR_SIGNER, factories.DENY_ALL)
    headers = signed()
    for header, end in product(("Signature_Agent", "Signature_Input", "Signature"), ("," + "a" * 1024, ", a=1" * 8)):
        reply = ask("/premium/a", **{**headers, header: headers[header] + end})
        assert told(reply) == (400, "deny", "invalid_signature"), (header, end)
    more = "".join(f', a{number}=("@authority");tag="web-bot-auth"' for number in range(3))
    reply = ask("/premium/a", **{**headers, "Signature_Input": headers["Signature_Input"] + more})
    assert (reply.status, "up to 3 signatures" in reply.error["message"]) == (400, True)


FILLING = [
    ';a{}="b"', ";a{}=1", ";a{}", ';a{}=:YQ==:', ";a{}=1.5", ";a{}=?1",
    ' "a{}"', ' "a{}";sf', ' "a{}";key="b"', ' "@query-param";name="a{}"', "  ",
]  # fmt: skip


@pytest.mark.parametrize("filling", FILLING)
def test_verifying_takes_constant_time_for_known_signers(forwards, filling):
    """Compares the event loop's CPU time with that for an ordinary signature."""
    headers = signed()
    text = headers["Signature_Input"]
    before, found, after = text.partition(")" if filling.startswith(" ") else ";tag=")
    most = LIMITS[b"signature-input"].most - len(text)
    filled = "".join(filling.format(number) for number in range(most))[:most].rpartition(filling[0])[0]
    hostile = {**headers, "Signature_Input": before + filled + found + after}
    signature = LIMITS[b"signature"].most - len(headers["Signature"]) - 8
    hostile["Signature"] += ", z=:" + "YWFh" * (signature // 4) + ":"

    def verify(headers):
        lines = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"path": "/v1/access/forward", "query_string": b"", "client": ("10.0.0.1", 1), "headers": lines}
        head, original = Head(scope, forwards.proxies), Original("https://pub.example/premium/a", "GET", None)
        began = time.process_time()
        with suppress(InvalidSignature):
            async_to_sync(forwards.signatures.signer)(head, original)
        return time.process_time() - began

    usual, taken = (min(verify(one) for _ in range(10)) for one in (headers, hostile))
    assert taken < 5 * usual

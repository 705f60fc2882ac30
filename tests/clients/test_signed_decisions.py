import base64
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from content_access_licensing import Client
from content_access_licensing.decisions import DecisionVerifier, InvalidDecision
from content_access_licensing.keys import MAX_AGE, REFETCH

from tests.served import Service

Sign = Callable[..., str]
RULES: list[Any] = [
    {"action": "allow", "priority": 1, "conditions": {"requesterId": "org_acme"}, "permissions": ["full_access"]},
    {"action": "deny", "conditions": {"default": True}},
]


@pytest.fixture
def item(client: Client) -> str:
    policy = client.create_policy({"name": "One requester", "rules": RULES})
    return client.create_content({"title": "Item", "policyId": policy["id"]})["id"]


@pytest.fixture
def sign(client: Client, item: str) -> Sign:
    def signed(**fields: Any) -> str:
        asked: Any = {"contentId": item, "requester": "org_acme", "permission": "read", "sign": True, **fields}
        return client.check_access(asked)["token"]

    return signed


@pytest.fixture
def expected(item: str) -> dict[str, str]:
    """What the decisions are about."""
    return {"item": item, "permission": "read", "requester": "org_acme"}


@pytest.fixture
def fetched() -> list[str]:
    """The addresses from which the verifier fetched keys."""
    return []


@pytest.fixture
def verifier(service: Service, fetched: list[str]) -> DecisionVerifier:
    hooks = {"request": [lambda request: fetched.append(str(request.url))]}
    return DecisionVerifier(f"{service.url}/", http=httpx.Client(trust_env=False, event_hooks=hooks))


def test_a_token_that_allows_just_that_is_verified_with_keys_fetched_once(verifier, sign, item, fetched):
    for permission in ("read", "ai_training", None):
        claims = verifier.verify(sign(permission=permission), item=item, permission=permission, requester="org_acme")
        assert (claims["permission"], claims["allowed"], claims["aud"]) == (permission, True, item)
    verifier.verify(sign(), item=item, permission="read", requester=None)
    assert fetched == [f"{verifier.issuer}/.well-known/jwks.json"]


def test_a_token_for_something_else_or_of_a_denial_is_refused(verifier, sign, expected):
    for other in ({"permission": "ai_training"}, {"permission": None}, {"item": "cnt_1"}, {"requester": "org_other"}):
        with pytest.raises(InvalidDecision):
            verifier.verify(sign(), **{**expected, **other})
    with pytest.raises(InvalidDecision, match="another permission"):
        verifier.verify(sign(permission=None), **expected)
    with pytest.raises(InvalidDecision, match="denial"):
        verifier.verify(sign(requester="org_b"), **{**expected, "requester": "org_b"})


def changed(token: str, part: int, **values: object) -> str:
    parts = token.split(".")
    raw = json.loads(base64.urlsafe_b64decode(parts[part] + "==")) | values
    parts[part] = base64.urlsafe_b64encode(json.dumps(raw).encode()).decode().rstrip("=")
    return ".".join(parts)


def test_forged_tokens_are_refused(verifier, sign, item):
    token = sign()
    unsigned = changed(token, 0, alg="none").rpartition(".")[0] + "."
    otherwise = [changed(token, 1, permission="ai_training"), changed(token, 0, alg="HS256")]
    for one in (unsigned, *otherwise, changed(token, 0, kid=["a"]), "Bearer", ""):
        with pytest.raises(InvalidDecision):
            verifier.verify(one, item=item, permission="ai_training", requester="org_acme")


class Tomorrow(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=1)


def test_an_expired_token_and_one_of_another_service_are_refused(verifier, sign, expected, monkeypatch):
    token = sign()
    verifier.verify(token, **expected)
    monkeypatch.setattr(verifier, "issuer", "https://elsewhere.example")
    with pytest.raises(InvalidDecision, match="issuer"):
        verifier.verify(token, **expected)
    monkeypatch.undo()
    monkeypatch.setattr("jwt.api_jwt.datetime", Tomorrow)
    with pytest.raises(InvalidDecision, match="expired"):
        verifier.verify(token, **expected)


def test_keys_are_fetched_again_for_an_unknown_one_at_most_every_ten_seconds_and_when_they_are_old(
    verifier, sign, expected, fetched, monkeypatch
):
    passed = 0.0
    clock = time.monotonic
    monkeypatch.setattr("content_access_licensing.keys.time.monotonic", lambda: clock() + passed)
    token = sign()
    unknown = changed(token, 0, kid="sig_unknown")
    for passed in (0, 0, REFETCH + 1, REFETCH + 1):  # noqa: B007 - the clock reads it
        with pytest.raises(InvalidDecision, match="no such key"):
            verifier.verify(unknown, **expected)
    assert len(fetched) == 2
    passed = REFETCH + MAX_AGE + 2
    verifier.verify(token, **expected)
    assert len(fetched) == 3


def test_nothing_is_verified_while_the_keys_cannot_be_fetched(sign, expected, service):
    away = httpx.MockTransport(Mock(side_effect=httpx.ConnectError("refused")))
    verifier = DecisionVerifier(service.url, http=httpx.Client(transport=away))
    for _ in range(2):
        with pytest.raises(httpx.TransportError):
            verifier.verify(sign(), **expected)


def test_an_unknown_key_does_not_end_the_known_ones_while_the_service_is_down(verifier, sign, expected, monkeypatch):
    token, passed = sign(), 0.0
    clock = time.monotonic
    monkeypatch.setattr("content_access_licensing.keys.time.monotonic", lambda: clock() + passed)
    verifier.verify(token, **expected)
    passed = REFETCH + 1
    verifier.http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(503)))
    for _ in range(2):
        with pytest.raises(httpx.HTTPError):
            verifier.verify(changed(token, 0, kid="sig_unknown"), **expected)
    assert verifier.verify(token, **expected)["allowed"]
    passed = MAX_AGE + 1
    for _ in range(2):
        with pytest.raises(httpx.HTTPError):
            verifier.verify(token, **expected)

import time

import orjson
import pytest
from asgiref.sync import async_to_sync

from kit.outbound.client import Reply, Unreachable
from kit.outbound.destinations import DestinationRefused
from licensing.edge.verification import directories as directories_module
from licensing.edge.verification.directories import MAX_BYTES, Directories, fetch, origin_of, parse_keys
from tests.edge.signers import AGENT, DIRECTORY, KEYID, RAW, published, read


def find(directories, keyid=KEYID):
    async def finding():
        return directories.find(AGENT, keyid)

    return async_to_sync(finding)()


def test_a_directory_is_read_at_its_well_known_address(directories):
    assert directories.asked == [f"{AGENT}/.well-known/http-message-signatures-directory"]
    assert find(directories) is not None
    assert find(directories, "other") is None

    async def answer(url):
        return published(RAW, exp=time.time() - 1)

    directories.fetch = answer
    read(directories)
    assert find(directories) is None


@pytest.mark.parametrize("failure", [Unreachable("no"), DestinationRefused("private"), Reply(500, {}, b"")])
def test_a_fetch_that_fails_takes_nothing_away(directories, failure):
    async def fail(url):
        if isinstance(failure, Exception):
            raise failure
        return failure

    directories.fetch = fail
    read(directories)
    assert find(directories) is not None


def test_a_failure_is_kept_for_five_minutes(directories, monkeypatch):
    async def fail(url):
        raise Unreachable("no")

    made = Directories(fail)
    read(made)
    wanted = []
    monkeypatch.setattr(made, "refresh", lambda origin, _: wanted.append(origin))
    assert (find(made), wanted) == (None, [])
    now = time.monotonic()
    monkeypatch.setattr(directories_module, "monotonic", lambda: now + 301)
    assert (find(made), wanted) == (None, [AGENT])


def test_only_keys_of_valid_directories_count():
    for reply in [
        Reply(301, {"location": "https://elsewhere.example/"}, b""),
        Reply(200, {"content-type": DIRECTORY}, b" " * (MAX_BYTES + 1)),
        Reply(200, {"content-type": "text/html"}, published(RAW).body),
        Reply(200, {"content-type": DIRECTORY}, b"{"),
        Reply(200, {"content-type": DIRECTORY}, b'{"keys": {}}'),
        Reply(404, {"content-type": DIRECTORY}, published(RAW).body),
    ]:
        with pytest.raises(ValueError, match=r"."):
            parse_keys(reply)
    body = orjson.dumps({"keys": [{"kty": "RSA"}, {"kty": "OKP", "crv": "Ed25519", "x": "AA"}, {"kty": "OKP"}]})
    assert parse_keys(Reply(200, {"content-type": DIRECTORY}, body)) == {}


def test_only_public_https_origins_are_fetched():
    for agent in [
        "http://a.example", "https://a.example/x", "https://a.example?x", "https://127.0.0.1", "https://[::1]",
        "https://169.254.169.254", "https://a.example:8443", "https://u@a.example", "signer",
    ]:  # fmt: skip
        with pytest.raises(DestinationRefused):
            origin_of(agent)
    with pytest.raises((DestinationRefused, Unreachable)):
        async_to_sync(fetch)("https://localhost/.well-known/http-message-signatures-directory")

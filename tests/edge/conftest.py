"""Access requests from proxies, answered on the event loop."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.models import Account
from kit.values.networks import Address
from licensing.access.event_loop.application import CheckApplication
from licensing.edge.application import ForwardApplication
from licensing.edge.current_crawlers import current_table
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.policies import rate_limits
from licensing.sites.models import Site
from tests import factories
from tests.client import ApiClient, Reply
from tests.clock import clock  # noqa: F401 - a fixture
from tests.edge.documents import replace_site
from tests.edge.signers import directories  # noqa: F401 - a fixture
from tests.ways import Response

PROXY = "10.0.0.1"
Ask = Callable[..., Reply]


class Names(dict[str, str]):
    """Host names by address, as if confirmed by DNS; `asked` lists the addresses looked up."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def resolve(self, address: Address) -> str | None:
        self.asked.append(str(address))
        return self.get(str(address))


@pytest.fixture
def dns() -> Names:
    return Names()


@pytest.fixture
def forwards(application: CheckApplication, dns: Names, settings: Any) -> ForwardApplication:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    return ForwardApplication(application.gateway, names=AddressNames(dns.resolve))


@pytest.fixture
def crawler_table(settings: Any, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Replace the built-in crawler table by one with these crawlers."""
    settings.DATA_DIR = tmp_path

    def put(*crawlers: dict[str, Any]) -> None:
        (tmp_path / "crawlers.json").write_text(json.dumps({"date": "2026-11-22", "crawlers": crawlers}))
        current_table.looked_at = float("-inf")

    yield put
    current_table.looked_at = float("-inf")


@pytest.fixture
def seeker(crawler_table: Callable[..., None]) -> None:
    """Use a table with one crawler, Seeker, verified by reverse DNS."""
    crawler_table(
        {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker",
         "hosts": ["crawl.seeker.example"]}
    )  # fmt: skip


@pytest.fixture
def key(account: Account) -> str:
    return factories.key_text(account, permissions=["access:check"])


def forward(
    application: ForwardApplication, path: str, *, method: str = "GET", peer: str = PROXY, **headers: Any
) -> Reply:
    """Send a proxy's request; a list of values sends a header repeatedly."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http", "scheme": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "client": (peer, 1), "server": ("localhost", 80),
        "headers": [
            (name.lower().replace("_", "-").encode(), value.encode("latin-1"))
            for name, values in headers.items() if values is not None
            for value in ([values] if isinstance(values, str) else values)
        ],
    }  # fmt: skip
    assert application.serves(scope)

    async def exchange() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await application(scope, lambda: None, send)  # type: ignore[arg-type, return-value]
        if (noted := application.gateway.callers.uses.next_results()) is not None:  # after the reply
            await noted
        return sent

    start, body = async_to_sync(exchange)()
    return Reply(Response(start, body["body"]))


@pytest.fixture
def raw(forwards: ForwardApplication) -> Ask:
    """Send a request unchanged; a list of values sends a header repeatedly."""
    return partial(forward, forwards)


def headers_of_visit(key: str, uri: str) -> dict[str, str]:
    """Return the headers of a proxy that asks about a visit to https://pub.example."""
    return {
        "host": "licensing.internal",
        "x_licensing_key": key,
        "x_forwarded_proto": "https",
        "x_forwarded_host": "pub.example",
        "x_forwarded_uri": uri,
        "x_forwarded_for": "203.0.113.9",
        "user_agent": "Mozilla/5.0",
    }


@pytest.fixture
def ask(raw: Ask, key: str) -> Ask:
    """Return a proxy's request about a page of https://pub.example."""

    def ask(uri: str, *, path: str = "/v1/access/forward", **headers: Any) -> Reply:
        return raw(path, **{**headers_of_visit(key, uri), **headers})

    return ask


@pytest.fixture
def api_of() -> Callable[[Account], ApiClient]:
    return lambda account: ApiClient(factories.key_text(account))


@pytest.fixture
def one_reader_per_address(monkeypatch):
    """Give an address the allowance of one reader, so that few visits use it up."""
    monkeypatch.setattr(rate_limits, "READERS_PER_ADDRESS", 1)


@pytest.fixture
def site(account: Account) -> Callable[..., Site]:
    """Create pub.example, whose pages under /premium/ have a policy with these rules; replace an earlier one."""

    def create(*rules: dict[str, Any], **fields: Any) -> Site:
        return replace_site(account, {"/premium/*": factories.policy(account, *rules)}, **fields)

    return create


@pytest.fixture
def question(raw, key):
    """Return middleware's request about a page of https://pub.example, from an untrusted address."""

    def question(path, **headers):
        given = {
            "host": "licensing.internal", "x_licensing_key": key, "x_licensing_url": f"https://pub.example{path}",
            "x_licensing_method": "GET", "x_licensing_address": "203.0.113.9", "user_agent": "Mozilla/5.0",
        }  # fmt: skip
        return raw("/v1/access/middleware", peer="198.51.100.20", **{**given, **headers})

    return question

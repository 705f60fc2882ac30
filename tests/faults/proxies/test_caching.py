"""nginx caches answers as the service allows, and a change takes effect within their TTL."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories import LICENSED
from tests.faults.harness import Api, Deployment, eventually
from tests.faults.proxies.conftest import READERS
from tests.faults.proxies.programs import HOST, Balanced, Place, Proxy, running
from tests.services import free_port

pytestmark = pytest.mark.faults
SECONDS = 3
METERED = {**READERS, "rateLimit": {"requests": 2, "period": "day"}}
NEAR = {**READERS, "conditions": {"ip": "203.0.113.0/24"}}
GPTBOT, BROWSER = "Mozilla/5.0 (compatible; GPTBot/1.2)", "Mozilla/5.0 (X11; Linux x86_64)"
OPENAI, ELSEWHERE = "203.0.113.7", "198.51.100.7"


class Cached:
    def __init__(self, api: Api, policy: str, at: Place) -> None:
        self.api, self.policy, self.at = api, policy, at

    def visit(self, path: str, *, address: str = ELSEWHERE, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(Balanced(self.at, address)) as connection:
            connection.request("GET", path, headers={"Host": HOST, **named})
            return connection.getresponse().status

    def decisions(self) -> int:
        return int(self.api.get("/v1/access/decisions", params={"limit": 1}).json()["totalCount"])


@pytest.fixture(scope="module")
def cached(nginx: Proxy, origin: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cached]:
    directory = tmp_path_factory.mktemp("caching")
    with closing(Deployment(directory, EDGE_CACHE_SECONDS=str(SECONDS), CRAWLER_DNS="off")) as deployment:
        deployment.migrate()
        (directory / "gptbot.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": f"{OPENAI}/32"}]}))
        deployment.manage("load_crawler_addresses", "GPTBot", str(directory / "gptbot.json"))
        deployment.start()
        yield from caching(nginx, deployment, origin, tmp_path_factory.mktemp("nginx-caching"))


def caching(nginx: Proxy, deployment: Deployment, origin: int, directory: Path) -> Iterator[Cached]:
    [(key, _)] = deployment.accounts(1)
    at = Place(key, deployment.port, origin, free_port(), directory, behind_balancer=True)
    with deployment.client(key) as api:
        folders = {"/open/": READERS, "/licensed/": LICENSED, "/metered/": METERED, "/near/": NEAR}
        rules = [{"pattern": pattern, "policyId": api.policy(rule)} for pattern, rule in folders.items()]
        api.create("/v1/sites", host=HOST, mode="enforce", rules=rules)
        api.create("/v1/licenses", requesterId="crawler:gptbot", licenseType="commercial")
        with running(nginx, at):
            yield Cached(api, rules[0]["policyId"], at)


def test_a_page_is_asked_about_once_for_each_kind_of_visitor(cached):
    before = cached.decisions()
    assert [cached.visit("/open/once") for _ in range(10)] == [200] * 10
    assert [cached.visit("/licensed/once") for _ in range(10)] == [402] * 10
    assert cached.decisions() - before == 2
    assert cached.visit("/open/once", User_Agent="Another/1.0") == 200
    assert cached.visit("/open/once", Authorization="License nope") == 200
    assert cached.decisions() - before == 4


def test_metered_pages_are_asked_about_each_time(cached):
    assert [cached.visit("/metered/a") for _ in range(3)] == [200, 200, 429]


def test_a_crawler_is_asked_about_once_at_each_address(cached):
    before = cached.decisions()
    for _ in range(3):
        assert cached.visit("/licensed/b", User_Agent=GPTBOT, address=OPENAI) == 200
        assert cached.visit("/licensed/b", User_Agent=GPTBOT) == 402
    assert cached.decisions() - before == 2


def test_a_crawler_with_another_name_is_asked_about_each_time(cached):
    before = cached.decisions()
    assert [cached.visit("/open/b", User_Agent="Yeti/1.0") for _ in range(3)] == [403] * 3
    assert cached.decisions() - before == 3


def test_pages_for_some_addresses_stay_theirs(cached):
    for _ in range(2):
        for agent in (BROWSER, GPTBOT.replace("GPTBot", "Somebot")):
            assert cached.visit("/near/a", User_Agent=agent, address=OPENAI) == 200
            assert cached.visit("/near/a", User_Agent=agent) == 403


def test_a_price_or_signature_is_not_answered_from_the_cache(cached):
    assert cached.visit("/open/c") == 200
    before = cached.decisions()
    assert cached.visit("/open/c", crawler_max_price="USD 1") == 200
    assert cached.decisions() - before == 1


def test_a_change_takes_effect_within_the_seconds_of_the_cache(cached):
    assert [cached.visit("/open/d") for _ in range(3)] == [200] * 3
    closed = {"action": "deny", "conditions": {"default": True}}
    cached.api.patch(f"/v1/policies/{cached.policy}", json={"rules": [closed]}).raise_for_status()
    assert cached.visit("/open/new-visitor", User_Agent="Another/2.0") == 403
    assert eventually(lambda: cached.visit("/open/d") == 403, 10 * SECONDS)
    cached.api.patch(f"/v1/policies/{cached.policy}", json={"rules": [READERS]}).raise_for_status()

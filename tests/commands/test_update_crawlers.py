import json

import pytest
from django.core.management import CommandError, call_command

from licensing.edge.crawlers import SHIPPED
from licensing.edge.current_crawlers import current_table
from licensing.edge.verification import published_addresses
from tests.commands.calling import printed

SHIPPED_DATE = json.loads(SHIPPED.read_bytes())["date"]
BOT = {"name": "ExampleBot", "class": "ai_training", "operator": "Example", "userAgent": "ExampleBot"}


pytestmark = pytest.mark.usefixtures("own_crawler_table")


@pytest.fixture
def update(tmp_path):
    def update(*crawlers, **fields):
        path = tmp_path / "crawlers.json"
        path.write_text(json.dumps({"date": "2026-12-01", "crawlers": list(crawlers), **fields}))
        call_command("update_crawlers", str(path))
        current_table.looked_at = float("-inf")

    return update


def test_the_service_comes_with_a_dated_table(api):
    shown = api.get("/v1/crawlers")
    assert shown["date"] == SHIPPED_DATE
    assert {"GPTBot", "ClaudeBot", "Googlebot"} <= {one["name"] for one in shown["data"]}
    [gptbot] = [one for one in shown["data"] if one["name"] == "GPTBot"]
    assert gptbot["addressLists"] == ["https://openai.com/gptbot.json"]
    evidence = {source["url"] for source in gptbot["evidence"]}
    assert set(gptbot["sources"]) == {*gptbot["addressLists"], *evidence}
    assert {fact for source in gptbot["evidence"] for fact in source["facts"]} >= {"operator", "class", "userAgent"}


def test_an_updated_file_takes_its_place(api, update):
    update({**BOT, "addresses": ["203.0.113.0/24"], "sources": ["https://ai.example/bots.json"]})
    shown = api.get("/v1/crawlers")
    assert shown["date"] == "2026-12-01"
    assert shown["data"] == [
        {
            "object": "crawler", "name": "ExampleBot", "crawlerClass": "ai_training", "operator": "Example",
            "userAgent": "ExampleBot", "kind": "crawler", "robotsToken": "ExampleBot",
            "requesterId": "crawler:examplebot", "addresses": ["203.0.113.0/24"],
            "hosts": [], "sources": ["https://ai.example/bots.json"], "addressLists": [], "evidence": [],
            "signatureAgent": None,
        }
    ]  # fmt: skip


def test_a_file_that_is_wrong_or_missing_changes_nothing(api, update, tmp_path):
    of_age = {"facts": ["age"], "url": "https://ai.example/", "date": "2026-12-01"}
    for fields in (
        {"hosts": ["."]}, {"hosts": ["com"]}, {"hosts": ["Bots.example"]}, {"class": "spying"}, {"userAgent": ""},
        {"addresses": ["203.0.113.1/24"]}, {"color": "red"}, {"addressLists": ["http://ai.example/bots.json"]},
        {"evidence": [of_age]},
    ):  # fmt: skip
        with pytest.raises(CommandError):
            update({**BOT, **fields})
        assert api.get("/v1/crawlers")["date"] == SHIPPED_DATE
    with pytest.raises(CommandError):
        update({"name": "x"})
    with pytest.raises(CommandError, match="twice"):
        update(BOT, {**BOT, "userAgent": "Other"})
    with pytest.raises(CommandError) as error:
        call_command("update_crawlers", str(tmp_path / "nowhere.json"))
    assert str(error.value) == f"There is no file {tmp_path / 'nowhere.json'}."
    assert api.get("/v1/crawlers")["date"] == SHIPPED_DATE


def test_a_user_agent_claims_a_crawler_by_its_token():
    for user_agent, name in (
        ("Mozilla/5.0 (compatible; GPTBot/1.2)", "GPTBot"),
        ("gptbot", "GPTBot"),
        ("NotGPTBotX/1.0", None),
        ("Mozilla/5.0 Firefox/140.0", None),
        ("", None),
        ("x" * 5000 + " GPTBot", None),
        ("Mozilla/5.0 (compatible; Claude-SearchBot/1.0)", "Claude-SearchBot"),
    ):
        found = current_table.get().claimed_by(user_agent)
        assert (found and found.name) == name, user_agent


PUBLISHED = {
    "creationTime": "2026-11-20T10:00:00.000000",
    "prefixes": [{"ipv4Prefix": "198.51.100.0/28"}, {"ipv6Prefix": "2001:db8:7::/48"}],
}


@pytest.fixture
def load(tmp_path):
    """Load files with these contents; return the command's output."""

    def load(crawler, *contents, options=()):
        paths = []
        for number, content in enumerate(contents):
            path = tmp_path / f"{number}.json"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            paths.append(str(path))
        output = printed("load_crawler_addresses", crawler, *paths, *options)
        current_table.looked_at = float("-inf")
        return output

    return load


def crawler_of(api, name):
    [crawler] = [one for one in api.get("/v1/crawlers")["data"] if one["name"] == name]
    return crawler


def test_published_addresses_are_loaded_and_replaced(api, load):
    assert load("GPTBot", PUBLISHED) == "GPTBot: 2 address ranges, as of 2026-11-20.\n"
    assert crawler_of(api, "GPTBot")["addresses"] == ["198.51.100.0/28", "2001:db8:7::/48"]
    assert crawler_of(api, "ClaudeBot")["addresses"] == []
    table = current_table.get()
    gptbot = table.claimed_by("GPTBot/1.0")
    assert table.is_at(gptbot, "198.51.100.9")
    assert table.is_at(gptbot, "2001:db8:7:1::1")
    assert table.is_at(gptbot, "::ffff:198.51.100.9")
    assert not table.is_at(gptbot, "198.51.100.16")
    assert not table.is_at(table.claimed_by("ClaudeBot"), "198.51.100.9")
    told = json.loads(load("gptbot", PUBLISHED, {"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}, options=["--json"]))
    assert told == {"crawler": "GPTBot", "addresses": 3, "date": "2026-11-20"}
    load("GPTBot", PUBLISHED)
    load("GPTBot", {"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]})
    assert crawler_of(api, "GPTBot")["addresses"] == ["192.0.2.0/24"]


def test_an_update_of_the_table_keeps_loaded_addresses(api, load, update):
    load("GPTBot", PUBLISHED)
    update({**BOT, "name": "GPTBot", "userAgent": "GPTBot", "addresses": ["192.0.2.0/24"]})
    assert crawler_of(api, "GPTBot")["addresses"] == ["192.0.2.0/24", "198.51.100.0/28", "2001:db8:7::/48"]


def test_files_that_are_wrong_missing_or_too_long_change_nothing(api, load, tmp_path, monkeypatch):
    too_wide = [{"ipv4Prefix": "0.0.0.0/0"}, {"ipv6Prefix": "::/0"}, {"ipv4Prefix": "10.0.0.0/7"}]
    for broken in (
        "", "[]", "{}", {"prefixes": []}, {"prefixes": "198.51.100.0/24"}, {"prefixes": [{}]},
        {"prefixes": [{"ipv4Prefix": "198.51.100.1/24"}]}, *({"prefixes": [one]} for one in too_wide),
    ):  # fmt: skip
        load("GPTBot", PUBLISHED)
        with pytest.raises(CommandError):
            load("GPTBot", PUBLISHED, broken)
        assert len(crawler_of(api, "GPTBot")["addresses"]) == 2
    with pytest.raises(CommandError, match="NoBot"):
        load("NoBot", PUBLISHED)
    path = str(tmp_path / "nowhere.json")
    for name, message in (
        (path, f"There is no file {path}."),
        (str(tmp_path), f"{tmp_path} cannot be read: Is a directory."),
    ):
        with pytest.raises(CommandError) as error:
            call_command("load_crawler_addresses", "GPTBot", name)
        assert str(error.value) == message
    monkeypatch.setattr(published_addresses, "LONGEST_FILE", 10)
    with pytest.raises(CommandError, match="larger"):
        load("GPTBot", PUBLISHED)

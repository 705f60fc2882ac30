import json

import pytest
from django.core.management import CommandError, call_command

from licensing.edge.crawlers import SHIPPED
from licensing.edge.current_crawlers import current_table

SHIPPED_DATE = json.loads(SHIPPED.read_bytes())["date"]
BOT = {"name": "ExampleBot", "class": "ai_training", "operator": "Example", "userAgent": "ExampleBot"}


pytestmark = pytest.mark.usefixtures("own_crawler_table")


@pytest.fixture
def update(tmp_path, monkeypatch):
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
    for broken in (
        {**BOT, "hosts": ["."]},
        {**BOT, "hosts": ["com"]},
        {**BOT, "hosts": ["Bots.example"]},
        {**BOT, "class": "spying"},
        {**BOT, "addresses": ["203.0.113.1/24"]},
        {**BOT, "userAgent": ""},
        {"name": "x"},
        {**BOT, "color": "red"},
        {**BOT, "addressLists": ["http://ai.example/bots.json"]},
        {**BOT, "evidence": [{"facts": ["age"], "url": "https://ai.example/", "date": "2026-12-01"}]},
    ):
        with pytest.raises(CommandError):
            update(broken)
        assert api.get("/v1/crawlers")["date"] == SHIPPED_DATE
    with pytest.raises(CommandError, match="twice"):
        update(BOT, {**BOT, "userAgent": "Other"})
    with pytest.raises(CommandError) as error:
        call_command("update_crawlers", str(tmp_path / "nowhere.json"))
    assert str(error.value) == f"There is no file {tmp_path / 'nowhere.json'}."


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [("Mozilla/5.0 (compatible; GPTBot/1.2)", "GPTBot"), ("gptbot", "GPTBot"), ("NotGPTBotX/1.0", None),
     ("Mozilla/5.0 Firefox/140.0", None), ("", None), ("x" * 5000 + " GPTBot", None),
     ("Mozilla/5.0 (compatible; Claude-SearchBot/1.0)", "Claude-SearchBot")],
)  # fmt: skip
def test_a_user_agent_claims_a_crawler_by_its_token(user_agent, name):
    found = current_table.get().claimed_by(user_agent)
    assert (found and found.name) == name

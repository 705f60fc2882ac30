import json
from pathlib import Path

import pytest

from licensing.visits.robots_parser import RobotsTxt

GOOGLE = json.loads((Path(__file__).parent / "google_robots.json").read_text())["files"]
URL = "https://pub.example/a"
CLOSED = "Disallow: /"


@pytest.mark.parametrize("file", GOOGLE, ids=[file["test"] for file in GOOGLE])
def test_googles_published_cases_are_answered_alike(file):
    """Requests with `differs` are answered otherwise, for the reason given there."""
    robots = RobotsTxt(file["robots"])
    for request in file["requests"]:
        allowed = robots.allows(request["url"], request["agent"])
        assert allowed == (request["allowed"] != ("differs" in request)), request


def test_a_group_is_that_of_the_equal_token_and_no_other_record_ends_it():
    for lines, allowed in [
        (["User-agent: GPTBot", CLOSED], False),
        (["\ufeffUser-agent: GPTBot", CLOSED], False),
        (["User-agent: GPTBot", "Crawl-delay: 10", "User-agent: CCBot", CLOSED], False),
        (["User-agent: GPTBot", "Content-Signal: ai-train=no", "User-agent: CCBot", CLOSED], False),
        (["User-agent: GPTBot", "Sitemap: https://pub.example/s", "User-agent: CCBot", CLOSED], False),
        (["User-agent: GPTBot/1.0", CLOSED], False),
        (["User-agent: GPT", CLOSED, "", "User-agent: *", "Allow: /"], True),
        (["User-agent: GPTBot-Extended", CLOSED], True),
        (["User-agent: *", CLOSED, "User-agent: GPTBot", "Disallow:"], True),
        (["User-agent: CCBot", CLOSED], True),
        ([CLOSED, "User-agent: GPTBot"], True),
    ]:
        for end in ["\n", "\r\n", "\r"]:
            assert RobotsTxt(end.join(lines)).allows(URL, "GPTBot") == allowed
    robots = RobotsTxt("User-agent: AI2Bot\nDisallow: /\n\nUser-agent: ChatGPT Agent\nDisallow: /")
    refused = {name for name in ("AI2Bot", "AI", "ChatGPT Agent", "ChatGPT") if not robots.allows(URL, name)}
    assert refused == {"AI2Bot", "ChatGPT Agent", "ChatGPT"}

"""The tables at the end of the guides: who gets what on their sites."""

import json
import re

import pytest
from django.core.management import call_command

from licensing.edge.cookies import NAME
from licensing.edge.current_crawlers import current_table
from tests import factories
from tests.documentation.blocks import block
from tests.documentation.tables import tables_of

pytestmark = pytest.mark.django_db(transaction=True)
GOOGLE, OPENAI, ANTHROPIC, ELSEWHERE = "66.249.66.1", "20.171.206.7", "160.79.104.10", "203.0.113.9"
GPTBOT = "Mozilla/5.0 (compatible; GPTBot/1.3; +https://openai.com/gptbot)"
VISITORS = {
    "a reader": ("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", ELSEWHERE, {}),
    "Googlebot": ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", GOOGLE, {}),
    "GPTBot": (GPTBOT, OPENAI, {}),
    "GPTBot that offers a price": (GPTBOT, OPENAI, {"crawler_max_price": "USD 0.05"}),
    "ClaudeBot with a licence": ("Mozilla/5.0 (compatible; ClaudeBot/1.0)", ANTHROPIC, {}),
    "AdsBot-Google": ("AdsBot-Google (+http://www.google.com/adsbot.html)", GOOGLE, {}),
    "Slackbot": ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", ELSEWHERE, {}),
    "archive.org_bot": ("Mozilla/5.0 (compatible; archive.org_bot)", ELSEWHERE, {}),
}  # fmt: skip
# The guide, the beginning of its block, and the number of its table.
SITES = [
    ("free-articles", "POLICY=", "SITE=", 0),
    ("price-a-crawler", "POLICY=", "SITE=", 0),
    ("wordpress", "api", "api", 0),
    ("wordpress", "FREE=", "FREE=", 1),
]
SIXTH = "its sixth article"
READER = "a reader"  # whose browser keeps cookies


def sites_of(guide, policies, site, account):
    """Create the policies and the site that the guide's commands create."""
    path = f"docs/guides/{guide}.md"
    made = {
        name: factories.policy(account, *json.loads(body)["rules"])
        for name, body in re.findall(
            r"^ *(\w+)=\$\(api policies -d '(.*?)' \| id_of", block(path, policies), re.M | re.S
        )
    }
    [body] = re.findall(r'api sites -d "(.*?)"(?: \| id_of\))?$', block(path, site), re.M | re.S)
    text = re.sub(
        r"\$(\w+)",
        lambda found: found[1] if found[1] in made else found[0],
        body.replace('\\"', '"').replace("\\$", "$"),
    )
    described = json.loads(text)
    assert described["mode"] in ("observe", "enforce")
    patterns = {rule["pattern"]: made[rule["policyId"]] for rule in described["rules"]}
    factories.site(account, patterns, host="pub.example", unknown=described.get("unknown", "allow"))


@pytest.mark.usefixtures("crawler_table")  # which forgets the addresses at the end
@pytest.mark.parametrize(("guide", "policies", "site", "number"), SITES)
def test_visitors_get_what_the_guides_table_says(ask, account, dns, tmp_path, guide, policies, site, number):
    dns[GOOGLE] = "crawl-66-249-66-1.googlebot.com"
    for crawler, address in (("GPTBot", OPENAI), ("ClaudeBot", ANTHROPIC)):
        (tmp_path / "list.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": f"{address}/32"}]}))
        call_command("load_crawler_addresses", crawler, str(tmp_path / "list.json"))
    current_table.looked_at = float("-inf")
    sites_of(guide, policies, site, account)
    factories.license(account, requester_id="crawler:claudebot", license_type="ai")
    header, *rows = tables_of(f"docs/guides/{guide}.md", "visitor")[number]
    got = []
    for name, *_ in rows:
        agent, address, headers = VISITORS[name]
        cookie = None

        def visit(path, name=name, agent=agent, address=address, headers=headers):
            nonlocal cookie
            sent = {"user_agent": agent, "x_forwarded_for": address, "x_licensing_visitor": cookie, **headers}
            reply = ask(path, **sent)
            if name == READER and (found := re.match(rf"{NAME}=([^;]*)", reply.headers.get("Set-Cookie", ""))):
                cookie = found[1]
            return str(reply.status)

        cells = [name]
        for column in header[1:]:
            if column == SIXTH:
                cells.append([visit(f"/articles/{number}") for number in range(2, 7)][-1])
            else:
                cells.append(visit(column.strip("`")))
        got.append(cells)
    assert got == rows

"""The answers that each kind of visitor gets in each section of a site that enforces, behind every proxy.

test_visitors.py runs this table. The docs print three of its columns for VISITORS (docs/reference/edge.md).
"""

from typing import NamedTuple

# The sections, and what a policy says of each:
#   news      everything is free
#   sold      licensees read, search engines index, AI training pays, nobody else
#   paying    the policy of the guide to priced crawlers: people, search and archives are free, AI pays
#   archive   people, search and archives are free, AI is refused
#   reports   licensees read, search engines index, previews and ad checks are admitted by name
#   metered   the policy of the guide to free articles: search engines index, people read some, AI is refused
#   unknown   no pattern, and the site's `unknown` is `deny`
#   feed      everything is free
#   ads.txt   a free path
#   image     an asset, which the service is not asked about
SECTIONS = ("news", "sold", "paying", "archive", "reports", "metered", "unknown", "feed", "ads.txt", "image")
NEWS, SOLD, UNKNOWN = "news", "sold", "unknown"
PRICE = ("crawler-price", "USD 0.015")
CHARGED = ("crawler-charged", "USD 0.015")
REFUSED_PRICE, REFUSED_SIGNATURE = ("crawler-error", "StrongAuthRequired"), ("crawler-error", "InvalidSignature")
REFUSED_TOKEN, REFUSED_PAGE = (
    ("www-authenticate", f'License error="{error}"') for error in ("invalid_token", "insufficient_scope")
)
MOZILLA = "Mozilla/5.0 (compatible; {})"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
GOOGLEBOT = MOZILLA.format("Googlebot/2.1; +http://www.google.com/bot.html")
GPTBOT = MOZILLA.format("GPTBot/1.3; +https://openai.com/gptbot")
HOME, OPENAI, ANTHROPIC, APPLE, YANDEX, BING = (
    "8.8.4.4",
    "20.171.206.7",
    "160.79.104.10",
    "17.241.75.9",
    "5.255.253.9",
    "157.55.39.9",
)  # of people; the others are the crawlers' own


class Visitor(NamedTuple):
    """A visitor, the requester that decisions are about, and the status in each of SECTIONS.

    `shown` is a header of the sold page's answer: its name and how its value begins. `elsewhere` is the requester
    on other pages, if it is another one.
    """

    name: str
    requester: str
    statuses: str
    shown: tuple[str, str] | None = None
    elsewhere: str | None = None

    def status(self, section: str) -> int:
        return int(self.statuses.split()[SECTIONS.index(section)])

    def requester_on(self, section: str) -> str:
        return self.requester if section == SOLD else self.elsewhere or self.requester


class Agent(NamedTuple):
    """A visitor that is its User-Agent (None: without one) and its address."""

    name: str
    user_agent: str | None
    requester: str
    statuses: str
    address: str = HOME


# The statuses of            news sold pay. arch rep. met. unk. feed ads  image
PEOPLE = "                   200  402  200  200  402  200  403  200  200  200"
SEARCH = "                   200  200  200  200  200  200  403  200  200  200"
AI = "                       200  402  402  403  402  402  403  200  200  200"
AI_OFFERS_UNPROVEN = "       200  400  400  403  402  402  403  200  200  200"
AI_PAYS = "                  200  200  200  403  402  402  403  200  200  200"
AI_LICENSED = "              200  200  200  403  200  200  403  200  200  200"
LICENSED = "                 200  200  200  200  200  200  403  200  200  200"
LINKED = "                   200  402  200  200  200  200  403  200  200  200"  # previews and ad checks
KEPT = "                     200  402  200  200  402  402  403  200  200  200"  # web archives
BAD_TOKEN = "                200  401  200  200  401  200  401  200  200  200"
TOKEN_FOR_SOLD = "           200  200  200  200  403  200  403  200  200  200"
TOKEN_FOR_OTHERS = "         200  403  200  200  403  200  403  200  200  200"
BAD_SIGNATURE = "            200  400  200  200  400  200  400  200  200  200"

# Who proves who it is, or fails to. test_visitors.py has what each of them does.
VISITORS = [
    Visitor("a browser", "anonymous", PEOPLE),
    Visitor("no User-Agent", "anonymous", PEOPLE),
    Visitor("Googlebot, on the first visit from an address", "crawler:googlebot", SEARCH),
    Visitor("Googlebot, later", "crawler:googlebot", SEARCH),
    Visitor("claims to be Googlebot", "unverified:googlebot", PEOPLE),
    Visitor("claims to be GPTBot", "unverified:gptbot", AI, PRICE),
    Visitor("claims to be GPTBot and offers a price", "unverified:gptbot", AI_OFFERS_UNPROVEN, REFUSED_PRICE),
    Visitor("GPTBot", "crawler:gptbot", AI, PRICE),
    Visitor("GPTBot, offers a price", "crawler:gptbot", AI_PAYS, CHARGED),
    Visitor("licence token for the page", "org_acme", TOKEN_FOR_SOLD, elsewhere="anonymous"),
    Visitor("invalid licence token", "anonymous", BAD_TOKEN, REFUSED_TOKEN),
    Visitor("licence token for other pages", "anonymous", TOKEN_FOR_OTHERS, REFUSED_PAGE),
    Visitor("signature", "agent:signer.example", LICENSED),
    Visitor("signature for another host", "anonymous", BAD_SIGNATURE, REFUSED_SIGNATURE),
    Visitor("signature that was used before", "anonymous", BAD_SIGNATURE, REFUSED_SIGNATURE),
    Visitor("customer's API key", "key_…", LICENSED),
]

# Who is nothing but a User-Agent and an address.
AGENTS = [
    Agent("empty User-Agent", "", "anonymous", PEOPLE),
    Agent("a screen reader", "Mozilla/5.0 (Windows NT 10.0) Chrome/131 NVDA/2025.1", "anonymous", PEOPLE),
    Agent("curl", "curl/8.10", "anonymous", PEOPLE),
    Agent("python-requests", "python-requests/2.32", "anonymous", PEOPLE),
    Agent("a scraper as a browser", "Mozilla/5.0 (Windows NT 10.0) Chrome/131 Safari/537.36", "anonymous", PEOPLE),
    Agent("Lighthouse", "Mozilla/5.0 Chrome/131 Chrome-Lighthouse", "anonymous", PEOPLE),
    Agent("UptimeRobot", MOZILLA.format("UptimeRobot/2.0; http://www.uptimerobot.com/"), "anonymous", PEOPLE),
    Agent("Feedly", "Feedly/1.0 (+http://www.feedly.com/fetcher.html)", "unverified:feedly", PEOPLE),
    Agent("Feedfetcher", "FeedFetcher-Google; (+http://www.google.com)", "unverified:feedfetcher-google", PEOPLE),
    Agent("NetNewsWire", "NetNewsWire (RSS Reader; https://netnewswire.com/)", "anonymous", PEOPLE),
    Agent("Bingbot", MOZILLA.format("bingbot/2.0; +http://www.bing.com/bingbot.htm"), "crawler:bingbot", SEARCH, BING),
    Agent("Applebot", "Mozilla/5.0 (Macintosh) Safari/605 (Applebot/0.1)", "crawler:applebot", SEARCH, APPLE),
    Agent("YandexBot", MOZILLA.format("YandexBot/3.0; +http://yandex.com/bots"), "crawler:yandexbot", SEARCH, YANDEX),
    Agent("claims to be Bingbot", MOZILLA.format("bingbot/2.0"), "unverified:bingbot", PEOPLE),
    Agent("DuckDuckBot, no list", "DuckDuckBot/1.1; (+http://duckduckgo.com)", "unverified:duckduckbot", PEOPLE),
    Agent("ClaudeBot with a licence", MOZILLA.format("ClaudeBot/1.0"), "crawler:claudebot", AI_LICENSED, ANTHROPIC),
    Agent("claims to be ClaudeBot", MOZILLA.format("ClaudeBot/1.0"), "unverified:claudebot", AI),
    Agent("CCBot", "CCBot/2.0 (https://commoncrawl.org/faq/)", "unverified:ccbot", AI),
    Agent("Bytespider", MOZILLA.format("Bytespider"), "unverified:bytespider", AI),
    Agent("Meta-ExternalAgent", "meta-externalagent/1.1", "unverified:meta-externalagent", AI),
    Agent("Amazonbot", MOZILLA.format("Amazonbot/0.1"), "unverified:amazonbot", AI),
    Agent("GoogleOther", MOZILLA.format("GoogleOther"), "unverified:googleother", AI),
    Agent("ChatGPT-User", MOZILLA.format("ChatGPT-User/1.0; +https://openai.com/bot"), "unverified:chatgpt-user", AI),
    Agent("OAI-SearchBot", MOZILLA.format("OAI-SearchBot/1.3"), "unverified:oai-searchbot", AI),
    Agent("PerplexityBot", MOZILLA.format("PerplexityBot/1.0"), "unverified:perplexitybot", AI),
    Agent("facebookexternalhit", "facebookexternalhit/1.1", "unverified:facebookexternalhit", LINKED),
    Agent("Twitterbot", "Twitterbot/1.0", "unverified:twitterbot", LINKED),
    Agent("Slackbot", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "unverified:slackbot", LINKED),
    Agent("LinkedInBot", "LinkedInBot/1.0", "unverified:linkedinbot", LINKED),
    Agent("WhatsApp", "WhatsApp/2.23 N", "unverified:whatsapp", LINKED),
    Agent("Google-InspectionTool", "Google-InspectionTool/1.0", "unverified:google-inspectiontool", LINKED),
    Agent("AdsBot-Google", "AdsBot-Google (+http://www.google.com/adsbot.html)", "unverified:adsbot-google", LINKED),
    Agent("Mediapartners-Google", "Mediapartners-Google", "unverified:mediapartners-google", LINKED),
    Agent("archive.org_bot", MOZILLA.format("archive.org_bot"), "unverified:archive.org_bot", KEPT),
]

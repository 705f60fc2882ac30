"""Examples of crawlers, visitors and observed denials for the OpenAPI document."""

from kit.openapi.examples import Operation
from licensing.content.examples import CONTENT_ID

CRAWLER: dict[str, object] = {
    "object": "crawler",
    "name": "ExampleBot",
    "crawlerClass": "ai_training",
    "operator": "Example AI",
    "userAgent": "ExampleBot",
    "kind": "crawler",
    "robotsToken": "ExampleBot",
    "requesterId": "crawler:examplebot",
    "addresses": ["203.0.113.0/24"],
    "hosts": ["crawl.ai.example"],
    "sources": ["https://ai.example/examplebot.json", "https://ai.example/crawlers"],
    "addressLists": ["https://ai.example/examplebot.json"],
    "evidence": [
        {
            "facts": ["operator", "class", "userAgent", "addressLists", "hosts", "signatureAgent"],
            "url": "https://ai.example/crawlers",
            "date": "2026-11-20",
        }
    ],
    "signatureAgent": "ai.example",
}
AT_STAKE = [{"amount": 0.41, "currency": "USD"}]
OBSERVED: dict[str, object] = {
    "object": "observed_report",
    "siteId": None,
    "startDate": "2026-01-16T00:00:00.000000Z",
    "endDate": "2026-02-14T23:59:59.999999Z",
    "total": 42,
    "truncated": False,
    "byReason": [{"reason": "no_license", "count": 41}, {"reason": "policy_denied", "count": 1}],
    "byRequester": [
        {"id": "crawler:examplebot", "name": "ExampleBot", "requests": 41, "revenueAtStake": AT_STAKE},
        {"id": "org_acme", "name": "Acme", "requests": 1, "revenueAtStake": []},
    ],
    "byContent": [{"id": CONTENT_ID, "title": "Pages of publisher.example", "requests": 42}],
    "revenueAtStake": AT_STAKE,
}

COUNTS: dict[str, object] = {
    "crawlerClass": "ai_training",
    "identifiedBy": "address",
    "verified": True,
    "allowed": 12,
    "observed": 0,
    "denied": 41,
    "lastSeen": "2026-02-14T16:44:07.250000Z",
}
VISITORS: dict[str, object] = {
    "object": "visitor_report",
    "startDate": "2026-01-16T00:00:00.000000Z",
    "endDate": "2026-02-14T23:59:59.999999Z",
    "total": 1,
    "byClass": [COUNTS],
    "visitors": [{"id": "crawler:examplebot", "name": "ExampleBot", **COUNTS}],
}
ASKED = {"requests": 53, "allowed": 12, "observed": 0, "denied": 41}
CRAWLED = {"id": "crawler:examplebot", "name": "ExampleBot"}
PAGES: dict[str, object] = {
    "object": "page_report",
    "siteId": None,
    "startDate": "2026-02-08T00:00:00.000000Z",
    "endDate": "2026-02-14T23:59:59.999999Z",
    "summary": ASKED,
    "timeSeries": [{"date": "2026-02-14", **ASKED}],
    "byCrawler": [
        {
            **CRAWLED,
            "operator": "Example AI",
            "crawlerClass": "ai_training",
            "identifiedBy": "address",
            "verified": True,
            **ASKED,
            "lastSeen": "2026-02-14T16:44:07.250000Z",
        }
    ],
    "folders": [{"url": "https://publisher.example/", **ASKED}],
    "pages": [
        {
            "url": "https://publisher.example/news/harbour",
            **ASKED,
            "lastSeen": "2026-02-14T16:44:07.250000Z",
            "visitors": [{**CRAWLED, "requests": 53}],
        }
    ],
}
CRAWLS = {**ASKED, "verified": 53, "violations": 2}
TAKEN = {**CRAWLS, "revenue": [{"amount": 0.18, "currency": "USD"}], "revenueAtStake": AT_STAKE}
SENT = {"referrals": 4, "crawlsPerReferral": 13.25}
CRAWLERS: dict[str, object] = {
    "object": "crawler_report",
    "siteId": None,
    "startDate": "2026-02-08T00:00:00.000000Z",
    "endDate": "2026-02-14T23:59:59.999999Z",
    "truncated": False,
    "summary": {**TAKEN, **SENT},
    "timeSeries": [{"date": "2026-02-14", "name": "ai_training", **CRAWLS}],
    "byClass": [{"crawlerClass": "ai_training", **TAKEN}],
    "byOperator": [{"operator": "Example AI", **TAKEN, **SENT}],
    "byCrawler": [{"name": "ExampleBot", "operator": "Example AI", "crawlerClass": "ai_training", **TAKEN}],
    "referrers": [
        {"host": "chat.ai.example", "name": "Example Chat", "operator": "Example AI", "kind": "ai", "referrals": 4}
    ],
}

OPERATIONS = {
    "GET /v1/crawlers": Operation(
        "listCrawlers", {"object": "crawler_table", "date": "2026-11-21", "data": [CRAWLER]}
    ),
    "GET /v1/analytics/observed": Operation("getObserved", OBSERVED),
    "GET /v1/analytics/visitors": Operation("getVisitors", VISITORS),
    "GET /v1/analytics/pages": Operation("getPages", PAGES),
    "GET /v1/analytics/crawlers": Operation("getCrawlers", CRAWLERS),
}

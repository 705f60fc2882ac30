"""Examples of sites for the OpenAPI document."""

from kit.openapi.examples import Operation, example_page
from licensing.policies.examples import CREATED, POLICY_ID, UPDATED

SITE_ID = "site_01kd9wk9w6b2t5z8m4hq7r1c3x"
NEW_SITE: dict[str, object] = {
    "host": "publisher.example",
    "aliases": ["www.publisher.example"],
    "name": "The Publisher",
    "refusalMessage": "This article is for subscribers.",
    "linkUrl": "https://publisher.example/subscribe",
    "linkLabel": "Subscribe",
    "mode": "observe",
    "unknown": "allow",
    "ask": "crawlers",
    "robotsTxt": "User-agent: GPTBot\nDisallow: /private/\n",
    "rules": [{"pattern": "/premium/*", "policyId": POLICY_ID}, {"pattern": "/premium/samples/*", "policyId": None}],
}
SITE: dict[str, object] = {
    "id": SITE_ID,
    "object": "site",
    **NEW_SITE,
    "verifiedAt": None,
    "verification": {
        "record": f"content-access-licensing={SITE_ID}",
        "url": "https://publisher.example/.well-known/content-access-licensing.txt",
        "dnsName": "_content-access-licensing.publisher.example",
    },
    "created": CREATED,
    "updated": CREATED,
}

OPERATIONS = {
    "GET /v1/sites": Operation("listSites", example_page(SITE)),
    "POST /v1/sites": Operation("createSite", SITE, NEW_SITE, codes=("resource_already_exists",)),
    "GET /v1/sites/{id}": Operation("getSite", SITE),
    "PATCH /v1/sites/{id}": Operation(
        "updateSite",
        {
            **SITE,
            "mode": "enforce",
            "updated": UPDATED,
            "uncoveredHosts": ["shop.publisher.example"],
            "proxyFileChanged": True,
        },
        {"mode": "enforce"},
        codes=("resource_already_exists",),
    ),
    "POST /v1/sites/{id}/verify": Operation("verifySite", {**SITE, "verifiedAt": UPDATED, "updated": UPDATED}),
    "GET /v1/sites/{id}/proxy-config": Operation(
        "getProxyConfig",
        {
            "object": "proxy_config",
            "siteId": SITE_ID,
            "proxy": "nginx",
            "fileName": "nginx.conf",
            "content": "# nginx in front of a site: …\n",
            "openPatterns": ["/about"],
            "omitted": [],
        },
    ),
    "DELETE /v1/sites/{id}": Operation("deleteSite", {"id": SITE_ID, "object": "site", "deleted": True}),
}

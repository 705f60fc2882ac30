"""Compares requests of crawlers with the robots.txt that the publisher has registered for the site."""

from collections.abc import Collection, Iterable
from functools import lru_cache

from licensing.edge.crawlers import Crawler
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from licensing.visits.robots_txt import RobotsTxt

parsed = lru_cache(maxsize=100)(RobotsTxt)


class RobotsRules:
    """The robots.txt of some sites, and the crawlers among some requesters (by primary key)."""

    def __init__(self, sites: Collection[str], requesters: Iterable[int]) -> None:
        with_text = Site.objects.filter(pk__in=sites, robots_txt__isnull=False)
        self.texts = dict(with_text.values_list("pk", "robots_txt")) if sites else {}
        self.crawlers: dict[int, Crawler] = {}
        if self.texts:
            known = current_table.get().by_requester
            rows = Requester.objects.filter(pk__in=set(requesters), requester_id__in=list(known))
            self.crawlers = {pk: known[name] for pk, name in rows.values_list("pk", "requester_id")}

    def forbid(self, site: str | None, requester: int, url: str) -> bool:
        """Whether the site's robots.txt disallows the page for this crawler. False for people."""
        text, crawler = self.texts.get(site or ""), self.crawlers.get(requester)
        if not text or crawler is None:
            return False
        return not parsed(text).allows(url, crawler.product_token or crawler.user_agent or crawler.name)

"""The operator imports an access log: an hour in which the site's server did not ask about its pages."""

import gzip
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any

from tests.world.actors.crawlers import CRAWLERS
from tests.world.actors.readers import BROWSER, METERED, OPEN_TO_ALL, REFERRERS, RELOADS, SPELLINGS, spelled
from tests.world.diary import Question
from tests.world.publisher import HOST, PAGES, Page
from tests.world.world import World

VISITS = 120
TAKEN = (200, 200, 203, 206)
NOT_TAKEN = (204, 301, 304, 404, 404, 500)  # statuses of requests that took nothing
ASKED, UNASKED = time(8, tzinfo=UTC), time(12, tzinfo=UTC)  # hours with and without a proxy that asks
WITHOUT_OFFERS = [crawler for crawler in CRAWLERS if crawler.offered is None]  # a log has no such headers


def take_in(world: World, day: date) -> None:
    """Import a day's log, then by mistake the same log again, rotated and gzipped."""
    chance = world.random("access log", day.toordinal())
    visits = list(draw(chance, datetime.combine(day, UNASKED), world.times(VISITS)))
    further = {  # requests that are not imported
        "live": [line(datetime.combine(day, ASKED), "127.0.1.1", "GET", PAGES[0].path, "-", BROWSER)],
        "openPages": [line(datetime.combine(day, UNASKED), "127.0.1.1", "GET", OPEN_TO_ALL, "-", BROWSER)],
        "assets": [line(datetime.combine(day, UNASKED), "127.0.1.1", "GET", "/assets/site.css", "-", BROWSER)] * 2,
    }
    for status in NOT_TAKEN:
        refused = line(datetime.combine(day, UNASKED), "127.0.1.1", "GET", METERED.path, "-", BROWSER, status)
        further.setdefault("notTaken", []).append(refused)
    text = "\n".join([*(one for lines in further.values() for one in lines), *(one for _, one in visits)])
    log = world.service.directory / "access.log"
    log.write_text(text)
    result, reply = world.run("import_access_log", str(log), "--site", HOST)
    world.found["log import"] = result
    for asked, _ in visits:
        world.diary.ask(asked, reply)
    skipped = {reason: len(lines) for reason, lines in further.items()}
    promise(world, "a log's import says what it did", (len(visits), 0, skipped), result)
    classes = Counter(f"{status // 100}xx" for status in NOT_TAKEN)
    found = {row["status"]: row["count"] for row in result["notTakenByStatus"]}
    world.diary.promise("the operator", "what took nothing is counted by class of status", classes, found)
    rotated = log.with_name("access.log.1.gz")
    rotated.write_bytes(gzip.compress(text.encode()))
    result, _ = world.run("import_access_log", str(rotated), "--site", HOST)
    promise(world, "a log that is imported again adds nothing", (0, len(visits), skipped), result)


def promise(world: World, sentence: str, wanted: tuple[int, int, dict[str, int]], result: dict[str, Any]) -> None:
    skipped = {reason: number for reason, number in result["skipped"].items() if number}
    world.diary.promise("the operator", sentence, wanted, (result["imported"], result["repeated"], skipped))


def draw(chance: Random, begin: datetime, visits: int) -> Iterator[tuple[Question, str]]:
    """Yield questions and their lines, some at the same second. One reader reloads a page beyond its limit."""
    pages = [page for page in PAGES if page.path != OPEN_TO_ALL]
    for number in range(RELOADS):
        yield read(chance, begin + timedelta(seconds=number), METERED)
    for number in range(visits):
        moment = begin + timedelta(minutes=1, seconds=number // 2)
        yield chance.choice([read, crawl])(chance, moment, chance.choice(pages))


def read(chance: Random, moment: datetime, page: Page) -> tuple[Question, str]:
    address = f"127.0.{chance.choice([1, 7])}.{chance.randrange(1, 21)}"
    method, referrer = chance.choice(["GET", "GET", "HEAD"]), chance.choice([None, *REFERRERS])
    asked = Question("log", "log", "anonymous", page.item, page.path, "read", ip=address, logged=moment.timestamp())
    asked.is_free, asked.referrer = method == "HEAD", referrer
    sender = f"https://{referrer}/a?b=c" if referrer else "-"
    uri, status = spelled(page, chance.choice(list(SPELLINGS))), chance.choice(TAKEN)
    return asked, line(moment, address, method, uri, sender, BROWSER, status)


def crawl(chance: Random, moment: datetime, page: Page) -> tuple[Question, str]:
    one = chance.choice(WITHOUT_OFFERS)
    asked = Question("log", "log", one.requester, page.item, page.path, one.permission, ip=one.address)
    asked.further, asked.logged = one.further, moment.timestamp()
    return asked, line(moment, one.address, "GET", page.path, "-", one.user_agent)


def line(
    moment: datetime, address: str, method: str, uri: str, referrer: str, user_agent: str, status: int = 200
) -> str:
    """Return a line of nginx's combined format."""
    sent = f'{address} - - [{moment:%d/%b/%Y:%H:%M:%S} +0000] "{method} {uri} HTTP/1.1"'
    return f'{sent} {status} 12 "{referrer}" "{user_agent}"'

"""Parsers of text from outside take time in proportion to its length, whatever the text is.

Each parser reads hostile texts at its documented limit and at half of it. Twice the length may take about twice as
long. A parser that scans ahead from every position takes four times as long, and stops all other requests meanwhile.

A new parser needs a case in CASES: how to call it, the longest text that reaches it, and texts that are hard for it.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import pytest

from config.server.framing import MAX_HEAD_BYTES
from kit.http.parsing import MAX_BYTES, parse_object
from kit.telemetry.logs import without_secrets
from kit.values.decimals import parse_amount
from kit.values.pages import RegisteredPage, RequestedPages
from kit.values.same_page import SamePage
from kit.values.urls import normalise
from licensing.edge.original import MAX_URI
from licensing.logs.combined import parse_combined, parse_common
from licensing.logs.formats import (
    CLOUDFRONT_FIELDS,
    CloudFront,
    detect_line,
    parse_caddy,
    parse_fastly,
    parse_logpush,
)
from licensing.logs.importer import ASSET
from licensing.logs.lines import MAX_LINE
from licensing.policies.matching.attribute_conditions import read_condition
from licensing.policies.matching.attributes import read_attributes
from licensing.policies.matching.schedules import read_schedule
from operators.policies.rule_rows import MOST_TYPED
from operators.policies.trial import LONGEST

MOST = 2.5  # times as long for twice the length
FLOOR = 0.005  # seconds of processor time; a parser that is faster at its limit stops nobody
ROUNDS = 4  # a busy machine disturbs single measurements
REPETITIONS = 2

# Repeated up to the limit, each parser reads each of these, and its own.
FRAGMENTS = (
    *("a", " ", "\t", "0", "9", ".", ",", ";", ":", "/", "\\", "=", "&", "?", "#", "%", "+", "-", "_", "*", "!", "@"),
    *('"', "'", "(", ")", "[", "]", "{", "}", "<", ">", "|", "~", "^", "\0", "\xe4", "ß", "\u200d"),
    *("a ", "a,", "a=", "a;", "a.", "a:", "a/", "a&", '"a', '\\"', "[a", "[]", "a ]", " [", "x [", "()", "{}", "[1,"),
    *("%5B", "%25", "%2525", "%2e%2e;/", "//", "../", "/../", "://:", "://", "a=b,", "a=b&", "a=b;", 'a="b",', "1,"),
)


class Case(NamedTuple):
    """How to call a parser. `limit` is the longest text in characters; `frame` puts it where the parser expects it."""

    parse: Callable[[str], object]
    limit: int
    fragments: tuple[str, ...] = ()
    frame: str = "{}"
    caches: tuple[Callable[[], None], ...] = ()  # cleared before each call

    def text(self, fragment: str, length: int) -> str:
        return self.frame.replace("{}", fragment * (length // len(fragment)), 1)


LOGGED_TIME = "[24/Nov/2026:10:00:00 +0000]"
LOGGED = f'{LOGGED_TIME} "GET /a HTTP/1.1" 200 5'
HOSTILE_LINES = ("[", "[]", "x [", "x [] ", '] "', '[] "', '\\"', '"\\', "1.2.3.4, ", "1.2.3.4 ", "\\x22", ': "')


def parse_cloudfront(text: str) -> object:
    parse = CloudFront()
    parse(f"#Fields: {' '.join(CLOUDFRONT_FIELDS)}")
    return parse("\t".join(["2026-11-24", "10:00:00", "192.0.2.1", "GET", "a.example", text, text, "200", "-", text]))


MEMBERS = ",".join(f'"{number}":""' for number in range(5_000))


def parse_body(text: str) -> object:
    return parse_object(text.encode(), exact=True)


TYPED = ("a=1, ", "a = b , ", '"a", ', '\\"', '"\\', "a= ", '"" ', "\r\n")
SAME = SamePage(slash=True, index=True, parameters=frozenset({"a"}))

CASES = {
    "URL, normalised": Case(normalise, 2048, frame="https://pub.example/{}"),
    "URL, its host": Case(normalise, 2048, frame="https://{}"),
    "URL, its query": Case(normalise, 2048, frame="https://pub.example/?{}"),
    "URL of an item, as a page": Case(
        lambda url: RegisteredPage.from_url(url, SAME), 2048, frame="http://a.example/{}"
    ),
    "requested page, its path": Case(
        lambda url: RequestedPages.from_url(url, None), MAX_URI, frame="https://a.example/{}"
    ),
    "requested page, its query": Case(
        lambda url: RequestedPages.from_url(url, None),
        MAX_URI,
        ("%5Ba", "a%5B", "a[]=1&", "%2523a%255B=%2523;", "a%00[", "a%20", "#a&", "a%23=b%255B&"),
        "https://a.example/p?{}",
    ),
    "requested page under SAME_PAGE": Case(
        lambda url: RequestedPages.from_url(url, SAME), MAX_URI, frame="https://a.example/p?{}"
    ),
    "log line before the time": Case(parse_combined, MAX_LINE, HOSTILE_LINES, f"{{}} {LOGGED}"),
    "log line, user name": Case(parse_combined, MAX_LINE, HOSTILE_LINES, f"192.0.2.1 - {{}} {LOGGED}"),
    "log line, request": Case(parse_combined, MAX_LINE, HOSTILE_LINES, f'192.0.2.1 - - {LOGGED_TIME} "GET {{}}'),
    "log line, User-Agent": Case(parse_combined, MAX_LINE, HOSTILE_LINES, f'192.0.2.1 - - {LOGGED} "-" "{{}}'),
    "log line of syslog": Case(
        parse_common, MAX_LINE, ("nginx: ", "<1>", "<1"), f"<190>Nov 24 10:00:00 {{}} {LOGGED}"
    ),
    "log line, its format": Case(detect_line, MAX_LINE, ("<1>", "<1", "<1>{", '] "')),
    "log line of Caddy": Case(parse_caddy, MAX_LINE, frame='{"ts":1,"status":200,"request":{"uri":"/{}'),
    "log line of CloudFront": Case(parse_cloudfront, MAX_LINE, ("%25", "%C3")),
    "log line of Fastly": Case(parse_fastly, MAX_LINE, ("<1>", "<1", '{"a":'), frame="<134>{}"),
    "log line of Logpush": Case(parse_logpush, MAX_LINE, ('{"a":', '"a":[')),
    "log line, path of an asset": Case(ASSET.match, MAX_LINE, ("/assets", "a/", "-", "x."), "/assets/{}"),
    "attributes, typed": Case(read_attributes, LONGEST, TYPED),
    "attributes, one typed": Case(read_attributes, LONGEST, TYPED, "a={}"),
    "attributes, typed in quotes": Case(read_attributes, LONGEST, TYPED, 'a="{}'),
    "condition on attributes, typed": Case(read_condition, MOST_TYPED, ("a = b\n", *TYPED), "a = {}"),
    "schedule, typed": Case(read_schedule, MOST_TYPED, ("mon,", "mon-", "mon-fri, ", "09:00-", "- ", "a\t")),
    "schedule, its hours typed": Case(read_schedule, MOST_TYPED, ("09:00-", "- "), "mon 09:00{} UTC"),
    "body in JSON": Case(
        parse_body, MAX_BYTES, ('{"a":', '"\\u0061",', "[", "0,", "1.5,", '"a":1,', '"a",', "{},"), '{"\\u0061":[{}]}'
    ),
    "body in JSON, its names": Case(parse_body, MAX_BYTES, ("a", "\\u0061"), f'{{"{{}}":{{{MEMBERS}}}}}'),
    "body in JSON, a number": Case(parse_body, MAX_BYTES, ("1", "9", "0"), '{"a":0.{}}'),
    "amount": Case(parse_amount, MAX_BYTES, ("1", "9")),
    "amount, its places": Case(parse_amount, MAX_BYTES, ("0", "1"), "0.{}"),
    "logged text": Case(
        without_secrets,
        MAX_HEAD_BYTES,
        (
            "://:",
            "://a:b",
            "eyJa-",
            "eyJa.",
            "eyJ.a.",
            "token ",
            "token=",
            "token='",
            'token="',
            "Bearer ",
            "@",
            "a@ ",
        ),
    ),
    "logged text with a password at its end": Case(without_secrets, MAX_HEAD_BYTES, ("://:", "://a:"), "{} @"),
}


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Keep the garbage collector, which visits every object of the test run, out of the measurements."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", CASES)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    case = CASES[name]
    slow = {fragment: ratio for fragment in (*FRAGMENTS, *case.fragments) if (ratio := growth(case, fragment)) > MOST}
    assert slow == {}, f"{name}: more than {MOST} times as long for twice the length"


def growth(case: Case, fragment: str) -> float:
    """Return how many times as long the parser takes for twice the text; 0 if it takes less than FLOOR."""
    whole, half = case.text(fragment, case.limit), case.text(fragment, case.limit // 2)
    at_limit = seconds(case, whole)
    at_half = float("inf")
    for _ in range(ROUNDS):
        for _ in range(REPETITIONS):
            if at_limit < FLOOR:
                return 0
            at_half = min(at_half, seconds(case, half))
            at_limit = min(at_limit, seconds(case, whole))
        if at_limit <= MOST * at_half:
            break
    return at_limit / at_half


def seconds(case: Case, text: str) -> float:
    for clear in case.caches:
        clear()
    begin = time.process_time()
    with suppress(Exception):  # most of these texts are refused
        case.parse(text)
    return time.process_time() - begin

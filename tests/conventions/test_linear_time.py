"""Parsers of text from outside take time in proportion to its length, whatever the text is.

Each parser reads hostile texts at its documented limit and at half of it. Twice the length may take about twice as
long. A parser that scans ahead from every position takes four times as long, and stops all other requests meanwhile.

A new parser needs a case in CASES: how to call it, the longest text that reaches it, and texts that are hard for it.
"""

import gc
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from io import BufferedReader, BytesIO
from typing import NamedTuple
from urllib.parse import parse_qs

import http_sf
import pytest
from django.http import parse_cookie

from accounts.keys.authentication import check_well_formed
from accounts.retries.idempotency import check_key
from analytics.rates.ecb_file import parse_rates
from config.server.requests import MAX_HEAD_BYTES
from kit.http.content_security import drop_quoted
from kit.http.error_replies import PROBLEM, prefers_problem
from kit.http.errors import InvalidRequest
from kit.http.headers import LIMITS, TrustedProxies, parse_address, valid_request_id
from kit.http.parsing import MAX_BYTES, check_media_type, parse_object
from kit.http.queries import check_query
from kit.http.rendering import JSON, takes_brotli
from kit.rest.conditional import has_state, is_known
from kit.rest.export import wanted_format
from kit.rest.filters import parse_integer, split_members
from kit.rest.lists.orders import decode_cursor
from kit.telemetry.logs import redact_secrets
from kit.values.canonical_pages import RegisteredPage, RequestedPages
from kit.values.decimals import parse_amount
from kit.values.hosts import host_of_header, parse_host
from kit.values.same_page_setting import SamePage
from kit.values.timestamps import parse_date, parse_timestamp
from kit.values.urls import normalise
from licensing.access.bodies import parse_check
from licensing.access.tokens.license_tokens import kid_of
from licensing.edge.cookies import NAME, find_in_header
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import MAX_URI, escape_uri, referring_host, whole_url
from licensing.edge.payment_headers import match_price
from licensing.edge.verification.published_addresses import parse_published
from licensing.edge.verification.signatures import read_agents
from licensing.imports.dates import DateOrder
from licensing.imports.mapping import columns_by_name
from licensing.imports.rows import Lines, csv_rows, json_rows
from licensing.imports.sitemaps import Sitemap
from licensing.license_server.resources import MAX_LICENSE, canonical
from licensing.logs.combined import parse_combined, parse_common
from licensing.logs.format_strings import compile_format
from licensing.logs.formats import detect_line, get_parser
from licensing.logs.importer import UNASKED
from licensing.logs.lines import MAX_LINE
from licensing.policies.condition_values import parse_network
from licensing.policies.matching.attribute_text import read_condition
from licensing.policies.matching.attributes import parse_attributes, read_attributes
from licensing.policies.matching.schedule_text import read_schedule
from licensing.sites.patterns import MAX_PATTERN, Pattern
from licensing.visits.robots_parser import RobotsTxt
from operators.base.fields import split_lines
from operators.base.typed_numbers import normalise_decimal
from operators.policies.rule_rows import MAX_TYPED
from operators.policies.trial import MAX_TEXT

MAX_COOKIES = LIMITS[b"cookie"].most
MOST = 3  # times as long for twice the length; a scan from every position takes four times as long
MOST_MEASURED = 64 * 1024  # characters; where the limit is higher, growth shows at this length, too
FLOOR = 0.005  # seconds of processor time; a parser that is faster at its limit stops nobody
ROUNDS = 10  # at most; a busy machine disturbs single measurements
REPETITIONS = 2
DOUBLINGS = 3  # a suspect's growth is the mean of so many: one alone may cross the size of the processor's cache

# Repeated up to the limit, each parser reads each of these, and its own.
FRAGMENTS = (
    "a", " ", "\t", "0", "9", ".", ",", ";", ":", "/", "\\", "=", "&", "?", "#", "%", "+", "-", "_", "*", "!", "@",
    '"', "'", "(", ")", "[", "]", "{", "}", "<", ">", "|", "~", "^", "\0", "\xe4", "ß", "\u200d",
    "a ", "a,", "a=", "a;", "a.", "a:", "a/", "a&", '"a', '\\"', "[a", "[]", "a ]", " [", "x [", "()", "{}", "[1,",
    "%5B", "%25", "%2525", "%2e%2e;/", "//", "../", "/../", "://:", "://", "a=b,", "a=b&", "a=b;", 'a="b",', "1,",
)  # fmt: skip


class Case(NamedTuple):
    """How to call a parser. `limit` is the longest text in characters; `frame` puts it where the parser expects it."""

    parse: Callable[[str], object]
    limit: int
    fragments: tuple[str, ...] = ()
    frame: str = "{}"

    def text(self, fragment: str, length: int) -> str:
        return self.frame.replace("{}", fragment * (length // len(fragment)), 1)


LOGGED_TIME = "[24/Nov/2026:10:00:00 +0000]"
LOGGED = f'{LOGGED_TIME} "GET /a HTTP/1.1" 200 5'
HOSTILE_LINES = ("[", "[]", "x [", "x [] ", '] "', '[] "', '\\"', '"\\', "1.2.3.4, ", "1.2.3.4 ", "\\x22", ': "')


def parse_cloudfront(text: str) -> object:
    parse = get_parser("cloudfront")
    parse("#Fields: date time c-ip cs-method cs(Host) cs-uri-stem cs-uri-query sc-status cs(Referer) cs(User-Agent)")
    return parse("\t".join(["2026-11-24", "10:00:00", "192.0.2.1", "GET", "a.example", text, text, "200", "-", text]))


def parse_w3c(text: str) -> object:
    parse = get_parser("w3c")
    parse("#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)")
    return parse(f"2026-11-24 10:00:00 192.0.2.1 GET {text} 200 {text}")


PARSE_CADDY, PARSE_FASTLY = get_parser("caddy"), get_parser("fastly")
PARSE_NGINX_JSON, PARSE_ENVOY = get_parser("nginx-json"), get_parser("envoy")
EVERY_FIELD = compile_format(
    '%{X-Forwarded-For}i, %h %u: %{%d/%b/%Y %T %z}t %v/%U%q |%r| %>s "%{Referer}i" "%{User-Agent}i" %D'
)


MEMBERS = ",".join(f'"{number}":""' for number in range(5_000))


def parse_body(text: str) -> object:
    return parse_object(text.encode(), exact=True)


MAX_ROBOTS = 100_000  # characters


def parse_dictionary(text: str) -> object:
    return http_sf.parse(text.encode("latin-1"), tltype="dictionary")


def read_robots(text: str) -> bool:
    return RobotsTxt(text).allows("https://a.example/a/b?c=d", "GPTBot")


def read_csv(text: str) -> object:
    return list(csv_rows(Lines(BufferedReader(BytesIO(text.encode())))))


def read_json_lines(text: str) -> object:
    return list(json_rows(Lines(BufferedReader(BytesIO(text.encode())))))


def read_sitemap(text: str) -> object:
    sitemap = Sitemap()
    with suppress(InvalidRequest):
        return [*sitemap.feed(text.encode()), *sitemap.feed(b"")]


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
        lambda url: RequestedPages.from_url(url, None), MAX_URI,
        ("%5Ba", "a%5B", "a[]=1&", "%2523a%255B=%2523;", "a%00[", "a%20", "#a&", "a%23=b%255B&"),
        "https://a.example/p?{}",
    ),
    "requested page under SAME_PAGE": Case(
        lambda url: RequestedPages.from_url(url, SAME), MAX_URI, frame="https://a.example/p?{}"
    ),
    "log line before the time": Case(parse_common, MAX_LINE, HOSTILE_LINES, f"{{}} {LOGGED}"),
    "log line, user name": Case(parse_common, MAX_LINE, HOSTILE_LINES, f"192.0.2.1 - {{}} {LOGGED}"),
    "log line, request": Case(parse_common, MAX_LINE, HOSTILE_LINES, f'192.0.2.1 - - {LOGGED_TIME} "GET /{{}}" 200 5'),
    "log line, User-Agent": Case(parse_combined, MAX_LINE, HOSTILE_LINES, f'192.0.2.1 - - {LOGGED} "-" "{{}}"'),
    "log line of syslog": Case(
        parse_common, MAX_LINE, ("nginx: ", "<1>", "<1"), f"<190>Nov 24 10:00:00 {{}} {LOGGED}"
    ),
    "log line, its format": Case(detect_line, MAX_LINE, ("<1>", "<1", "<1>{", '] "')),
    "log line of Caddy": Case(PARSE_CADDY, MAX_LINE, frame='{"ts":1,"status":200,"request":{"uri":"/{}'),
    "log line of CloudFront": Case(parse_cloudfront, MAX_LINE, ("%25", "%C3")),
    "log line of W3C columns": Case(parse_w3c, MAX_LINE, ('"', ' "', '" ', "+", "%25")),
    "log line of Envoy": Case(PARSE_ENVOY, MAX_LINE, ('" "', '\\"', "] "), '[2026-11-24T10:00:00Z] "GET /{}'),
    "log line of a format string": Case(
        EVERY_FIELD, MAX_LINE, (", ", "1.2.3.4, ", " ", ": ", " |", "| ", '" "', '\\"', "?", "/", "a 1 +0000 "),
        "1.2.3.4{}",
    ),
    "log line of a format string, User-Agent": Case(
        EVERY_FIELD, MAX_LINE, ('" "', '\\"', '"\\'),
        '1.2.3.4, 1.2.3.4 x: 24/Nov/2026 10:00:00 +0000 a.example/?a |GET /| 200 "-" "{}',
    ),
    "log line of Docker": Case(parse_common, MAX_LINE, ('\\"', "\\n", "{"), '{"log":"{}'),
    "format string of a log": Case(compile_format, 4_096, ("%h", "%h ", "$a", "$a ", "%{", "%{a}", "%A", "${", "%A(")),
    "log line of Fastly": Case(PARSE_FASTLY, MAX_LINE, ("<1>", "<1", '{"a":'), frame="<134>{}"),
    "log line of nginx as JSON": Case(PARSE_NGINX_JSON, MAX_LINE, ('{"a":', '"a":[')),
    "log line, path of an asset": Case(UNASKED.match, MAX_LINE, ("/assets", "a/", "-", "x."), "/assets/{}"),
    "attributes, typed": Case(read_attributes, MAX_TEXT, TYPED),
    "attributes, one typed": Case(read_attributes, MAX_TEXT, TYPED, "a={}"),
    "attributes, typed in quotes": Case(read_attributes, MAX_TEXT, TYPED, 'a="{}'),
    "condition on attributes, typed": Case(read_condition, MAX_TYPED, ("a = b\n", *TYPED), "a = {}"),
    "schedule, typed": Case(read_schedule, MAX_TYPED, ("mon,", "mon-", "mon-fri, ", "09:00-", "- ", "a\t")),
    "schedule, its hours typed": Case(read_schedule, MAX_TYPED, ("09:00-", "- "), "mon 09:00{} UTC"),
    "body in JSON": Case(
        parse_body, MAX_BYTES, ('{"a":', '"\\u0061",', "[", "0,", "1.5,", '"a":1,', '"a",', "{},"), '{"\\u0061":[{}]}'
    ),
    "body in JSON, its names": Case(parse_body, MAX_BYTES, ("a", "\\u0061"), f'{{"{{}}":{{{MEMBERS}}}}}'),
    "body in JSON, a number": Case(parse_body, MAX_BYTES, ("1", "9", "0"), '{"a":0.{}}'),
    "amount": Case(parse_amount, MAX_BYTES, ("1", "9")),
    "amount, its places": Case(parse_amount, MAX_BYTES, ("0", "1"), "0.{}"),
    "logged text": Case(
        redact_secrets,
        MAX_HEAD_BYTES,
        (
            "://:", "://a:b", "eyJa-", "eyJa.", "eyJ.a.", "token ", "token=", "token='", 'token="', "Bearer ", "@",
            "a@ ",
        ),
    ),
    "logged text with a password at its end": Case(redact_secrets, MAX_HEAD_BYTES, ("://:", "://a:"), "{} @"),
    # Headers
    "Accept, for a format": Case(
        lambda text: wanted_format({}, text), MAX_HEAD_BYTES, ("text/csv;q=0.0", "q=0 ", ",")
    ),
    "Accept, for problem details": Case(prefers_problem, MAX_HEAD_BYTES, (f"{PROBLEM};q=0.1,", ";q=", "application/")),
    "Accept-Encoding": Case(takes_brotli, MAX_HEAD_BYTES, ("br;q=0.0,", "q = 0", "br;")),
    "Content-Type": Case(check_media_type, MAX_HEAD_BYTES, (";charset=", "; charset ", ";  "), f"{JSON}{{}}"),
    "If-Match": Case(lambda text: has_state(text, '"a-b"'), MAX_HEAD_BYTES, ('"a",', '"a" , ', 'W/"', '"" '), '{}"b"'),
    "If-None-Match": Case(
        lambda text: is_known(text, '"a-b"'), MAX_HEAD_BYTES, ('"a",', '"a" , ', 'W/"', '"" '), '{}"b"'
    ),
    "X-Forwarded-For": Case(
        lambda text: TrustedProxies().client_of("127.0.0.1", text), MAX_HEAD_BYTES, ("127.0.0.1,",)
    ),
    "cookies": Case(lambda text: parse_cookie(drop_quoted(text)), MAX_COOKIES, ("a=b;", "a=;", ";a=b")),
    "cookies, one in quotes": Case(
        lambda text: parse_cookie(drop_quoted(text)), MAX_COOKIES, ('\\"', "\\0", "a=b;"), 'sessionid="{}'
    ),
    "cookie of a visitor": Case(find_in_header, MAX_HEAD_BYTES, (f"{NAME};", "; ", ", "), "a={}"),
    "User-Agent": Case(
        lambda text: current_table.get().find_claim(text), MAX_HEAD_BYTES, ("GPTBot", "gptbot-", "Google", "bot "),
    ),
    "Signature-Input": Case(parse_dictionary, MAX_HEAD_BYTES, ('a=("b");c=1,', "a=(", '"', ";a", "a=1;", '"\\"')),
    "Signature": Case(parse_dictionary, MAX_HEAD_BYTES, ("a=:AA==:,", ":AA", ":"), "a=:{}"),
    "Signature-Agent": Case(read_agents, MAX_HEAD_BYTES, ('a="b",', "a;", '"\\'), 'a="{}'),
    "price offered by a crawler": Case(match_price, MAX_HEAD_BYTES, ("9", "USD 1."), "USD {}"),
    "URL of a page, from a proxy": Case(lambda text: whole_url(text, "h"), MAX_HEAD_BYTES, frame="https://{}"),
    "path of a page, from a proxy": Case(escape_uri, MAX_HEAD_BYTES),
    "Referer": Case(lambda text: referring_host(text, "a.example"), MAX_HEAD_BYTES, frame="https://{}"),
    "Idempotency-Key": Case(check_key, MAX_HEAD_BYTES),
    "X-Request-Id": Case(valid_request_id, MAX_HEAD_BYTES),
    "API key": Case(check_well_formed, MAX_HEAD_BYTES, ("svc_sk_",), "svc_sk_{}"),
    "licence token": Case(kid_of, MAX_HEAD_BYTES, ("eyJ", "e30."), "eyJhbGciOiJFUzI1NiJ9.{}"),
    # Queries
    "query": Case(
        lambda text: check_query(parse_qs(text).items(), frozenset({"limit"})), MAX_HEAD_BYTES, ("limit[a]=",)
    ),
    "cursor": Case(lambda text: decode_cursor("content", text), MAX_HEAD_BYTES, ("A", "AAAA", "=")),
    "filter by several values": Case(split_members, MAX_HEAD_BYTES, ("\\,", "\\\\,", "a\\,")),
    "filter by a number": Case(parse_integer, MAX_HEAD_BYTES),
    "timestamp": Case(parse_timestamp, MAX_BYTES, ("2026-", "1:", "T0", "+0"), "2026-01-01T{}"),
    "date": Case(parse_date, MAX_BYTES, ("2026-", "-1"), "2026-{}"),
    # Bodies
    "host": Case(parse_host, MAX_BYTES, ("a.", "-.", "a-", "ä.", "xn--")),
    "Host": Case(host_of_header, MAX_BYTES, ("a.", "a:1", ":1")),
    "IP address": Case(parse_address, MAX_BYTES, ("1.", "::", "f:", "[")),
    "IP network": Case(lambda text: parse_network(text, ""), MAX_BYTES, ("1.", "::", "/1", "0/")),
    "metadata": Case(parse_body, MAX_BYTES, ('"a":{', '"a":[],'), '{"metadata":{{}}}'),
    "check of access": Case(
        lambda text: parse_check({"page": text, "requester": text}), MAX_BYTES, frame="https://a/{}"
    ),
    "attributes of a check": Case(lambda text: parse_attributes({text: text}, "a"), MAX_BYTES),
    "pattern of pages": Case(lambda text: Pattern.from_text(text).length, MAX_PATTERN, ("*", "*a", "%2a"), "/{}$"),
    "XML of a licence": Case(
        canonical, MAX_LICENSE, ("<a/>", "<a>", "<a b='", "&amp;", "x:"), "<license>{}</license>"
    ),
    # Files
    "robots.txt": Case(read_robots, MAX_ROBOTS, ("Disallow: /*a", "*", "\n", "User-agent: a\n", "Allow: /*$\n")),
    "robots.txt, a path": Case(read_robots, MAX_ROBOTS, ("*", "*a", "a*", "%2a", "$"), "User-agent: *\nDisallow: /{}"),
    "CSV of a catalogue": Case(read_csv, MAX_BYTES, ('"",', '"\n', ",\n", '""', "\n", " \n", "a,b\n"), "a,b\n{}"),
    "CSV of a catalogue, its header": Case(read_csv, MAX_BYTES, ('"",', ";", ",", "\t")),
    "CSV of a catalogue, names of its columns": Case(
        lambda text: columns_by_name(text.split(",")), 16 * 1024, ("title,", "a_b,", "_,")
    ),
    "JSON array of a catalogue": Case(read_json_lines, MAX_BYTES, ("{},", "[", '{"a":"', "1,", '"\\"'), "[{}"),
    "sitemap of a catalogue": Case(read_sitemap, MAX_BYTES, ("<url>", "<url/>", "<a ", "<!--", "&amp;"), "<urlset>{}"),
    "date of a catalogue": Case(DateOrder("day-first").to_iso, MAX_BYTES, ("1.", "1/1/2026 ")),
    "JSON lines of a catalogue": Case(read_json_lines, MAX_BYTES, ('{"a":1}\n', "{\n", "\n", '{"a":'), "{}"),
    "lines of a form": Case(split_lines, MAX_BYTES, ("\r\n", " \n", "a\n")),
    "amount typed": Case(normalise_decimal, MAX_BYTES, ("1,", "1.", "1,000.", ",.")),
    "exchange rates": Case(
        lambda text: list(parse_rates(text)), MAX_BYTES, ("USD,", "1.5,", "2026-01-01,1\n"), "Date,{}"
    ),
    "addresses of a crawler": Case(
        lambda text: parse_published(text.encode()), MAX_BYTES, ('{"ipv4Prefix":"1.2.3.0/24"},', "{", '"a":'),
        '{"prefixes":[{}]}',
    ),
}  # fmt: skip


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
    """Return how many times as long the parser takes for twice the text; 0 if it takes less than FLOOR.

    A parser that seems slow is measured over several doublings. There a scan from every position grows by 4, too.
    """
    length = min(case.limit, MOST_MEASURED)
    at_limit = seconds(case, case.text(fragment, length))
    if at_limit < FLOOR:
        return 0
    over_one_doubling = ratio(case, fragment, length, length // 2, at_limit)
    if over_one_doubling <= MOST:
        return over_one_doubling
    over_all = ratio(case, fragment, length, length // 2**DOUBLINGS, at_limit)
    return min(over_one_doubling, over_all ** (1 / DOUBLINGS))


def ratio(case: Case, fragment: str, length: int, shorter: int, long_time: float) -> float:
    """Return how many times as long the text of `length` takes as the shorter one, each at its fastest."""
    long_text, short_text = case.text(fragment, length), case.text(fragment, shorter)
    short_time = float("inf")
    for _ in range(ROUNDS):
        short_time = min(short_time, *(seconds(case, short_text) for _ in range(REPETITIONS)))
        if long_time <= MOST * short_time:
            break
        long_time = min(long_time, seconds(case, long_text))
    return long_time / short_time


def seconds(case: Case, text: str) -> float:
    begin = time.process_time()
    try:
        case.parse(text)
    except (TypeError, NameError, AttributeError):
        raise  # the case is wrong
    except Exception:  # noqa: S110 - most of these texts are refused
        pass
    return time.process_time() - begin


PACKAGES = ("accounts", "analytics", "config", "kit", "licensing", "operators")
LENGTH = 16_000  # characters


def constants_of_modules() -> Iterator[object]:
    """Yield every constant of every module of the product.

    A pattern that is only matched at the beginning of a text is stored as its method, `re.compile(…).match`.
    """
    for package in map(importlib.import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_spark_missing = found.name == "analytics.archive.report" and find_spec("pyspark") is None
            if ".migrations." not in found.name and not is_spark_missing:
                yield from list(vars(importlib.import_module(found.name)).values())


def test_every_regular_expression_of_a_module_takes_linear_time() -> None:
    """Also those that read only the product's own texts, because a shorter rule is easier to keep."""
    calls: dict[re.Pattern[str], Callable[[str], object]] = {}
    for value in constants_of_modules():
        owner = getattr(value, "__self__", None)
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            calls[value] = value.search
        elif isinstance(owner, re.Pattern) and isinstance(owner.pattern, str) and callable(value):
            calls[owner] = value
    assert len(calls) > 70
    slow = []
    for pattern, call in calls.items():
        words = re.findall(r"\w+", pattern.pattern)
        case = Case(call, LENGTH)
        slow += [(pattern.pattern, fragment) for fragment in {*FRAGMENTS, *words} if growth(case, fragment) > MOST]
    assert slow == []

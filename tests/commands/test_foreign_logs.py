import json
import re
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from accounts.plans.services import update_account
from analytics.models import AccessEvent
from kit.http.errors import InvalidRequest
from licensing.logs.combined import parse_combined, parse_common
from licensing.logs.deciding import address_in_words
from licensing.logs.formats import detect_format, get_parser
from licensing.logs.importer import no_address
from licensing.logs.requests import Malformed
from tests import factories
from tests.commands.access_logs import (
    BROWSER,
    HEADERS,
    SOLD,
    YESTERDAY,
    combined,
    no_names,  # noqa: F401 - a fixture
    publisher,
    refused,
    run,
    written,
)
from tests.edge.asking import READERS
from tests.edge.conftest import crawler_table  # noqa: F401 - a fixture

BOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot"
TIME = f"[{YESTERDAY:%d/%b/%Y:%H:%M:%S} +0000]"
REQUEST = f'{TIME} "GET /open/a HTTP/1.1" 200 5'
BEHIND = f'{REQUEST} "-" "{BOT}"'
ADDRESS = "52.230.152.7"


def problems(result):
    return [one["message"] for one in result["problems"]]


FIXTURES = json.loads((Path(__file__).parent / "foreign_logs.json").read_text())


@pytest.mark.parametrize("row", FIXTURES, ids=[row["source"] for row in FIXTURES])
def test_a_line_as_another_program_writes_it_is_read_as_meant_or_refused_by_name(row):
    """`foreign_logs.json` has lines in the form of the public logs that it names, with invented content."""
    if "refused" in row:
        with pytest.raises((Malformed, InvalidRequest), match=re.escape(row["refused"])):
            read(row)
        return
    visit = read(row)
    assert (address_in_words(visit.address), visit.method) == (ADDRESS, "GET")
    assert (visit.host, visit.uri, visit.status) == (row["host"], row["uri"], 200)
    assert visit.user_agent == row.get("agent", BOT)
    assert visit.moment.isoformat() == row.get("moment", "2026-11-24T10:00:00+00:00")


def read(row):
    """Return the request of a fixture's line, read in its format. Raises Malformed also for an invalid address."""
    lines = [row["before"], row["line"]] if "before" in row else [row["line"]]
    log_format = row.get("format") or detect_format(lines)
    assert log_format == row.get("detected", log_format)
    parse = get_parser(log_format)
    if "before" in row:
        with suppress(Malformed):
            parse(row["before"])
    visit = parse(row["line"])
    if address_in_words(visit.address) is None:
        raise Malformed(no_address(visit.address))
    return visit


@pytest.mark.parametrize(
    "line",
    [
        f"{ADDRESS} - - {BEHIND}",
        f"{ADDRESS}, 10.0.0.5 - - {BEHIND}",
        f"{ADDRESS},10.0.0.5, 10.0.0.6 - - {BEHIND}",
        f'"{ADDRESS}, 10.0.0.5" - - {BEHIND}',
        f'"{ADDRESS} - - {BEHIND}"',
        f"{ADDRESS}, 10.0.0.5 10.0.0.6 - - {BEHIND}",
        f"{ADDRESS} 10.0.0.5 - - {BEHIND}",
        f"- {ADDRESS} - - {BEHIND}",
        f"10.72.153.53 [{ADDRESS}] - - {BEHIND}",
        f"{ADDRESS}:60422 - - {BEHIND}",
        f"{ADDRESS} -  -  {BEHIND}",
        f"{ADDRESS} - a user [x] {BEHIND}",
        f"\xef\xbb\xbf{ADDRESS} - - {BEHIND}",
        f"2026-11-24T10:00:00.1Z stdout F {ADDRESS} - - {BEHIND}",
        f"Nov 24 10:00:00 web1 nginx: {ADDRESS} - - {BEHIND}",
        f"Nov  4 10:00:00 web1 nginx[12]: {ADDRESS} - - {BEHIND}",
        f"<190>Nov 24 10:00:00 web1 nginx: {ADDRESS} - - {BEHIND}",
        f"2026-11-24T10:00:00.123456+01:00 web1 nginx: {ADDRESS} - - {BEHIND}",
        f"<190>1 2026-11-24T10:00:00Z web1 nginx 12 - - {ADDRESS} - - {BEHIND}",
    ],
)
def test_the_visitors_address_is_found_where_servers_and_log_shippers_put_it(line):
    visit = parse_combined(line)
    assert (visit.address.removesuffix(":60422"), visit.host, visit.user_agent) == (ADDRESS, None, BOT)
    assert (visit.uri, visit.status, visit.moment) == ("/open/a", 200, YESTERDAY)


def test_readers_behind_proxies_are_different_visitors(account, tmp_path):
    update_account(account, {"visitor_addresses": "full"})
    twice = {**READERS, "rateLimit": {"requests": 2, "period": "month", "per": "visitor"}}
    factories.site(account, {"/": factories.policy(account, twice)}, host="pub.example", mode="observe")
    lines = [
        combined(YESTERDAY + timedelta(seconds=number), f"/{number}", BROWSER, address=f"203.0.113.{number}, 10.0.0.5")
        for number in range(5)
    ]
    lines.append(json.dumps({"request": {"remote_addr": "203.0.113.9:60422"}}))
    result = run(written(tmp_path / "access.log", lines))
    assert (result["imported"], result["refused"], result["malformed"]) == (5, 0, 1)
    assert {event.facts["ip"] for event in AccessEvent.objects.all()} == {f"203.0.113.{number}" for number in range(5)}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("crawl-66-249-79-130.googlebot.com",
         "'crawl-66-249-79-130.googlebot.com' is no IP address. Turn off the look-up of host names in the server."),
        ("unix:", "'unix:' is no IP address."),
        ("-", "'-' is no IP address."),
        ("unknown, 203.0.113.9", "'unknown,' is no host and no address."),
        ("999.1.1.1", "'999.1.1.1' is no IP address."),
    ],
)  # fmt: skip
def test_a_line_with_an_invalid_address_is_refused_by_its_number(account, tmp_path, address, message):
    publisher(account)
    lines = [combined(YESTERDAY, "/open/a", BOT), combined(YESTERDAY, "/open/a", BOT, address=address)]
    result = run(written(tmp_path / "access.log", lines))
    assert result["problems"] == [{"line": 2, "message": message}]
    assert (result["imported"], result["malformed"], result["understoodPercent"]) == (1, 1, 50)


def test_caddy_before_2_5_logs_the_address_with_its_port(account, tmp_path):
    publisher(account)
    row = caddy()
    row["request"]["remote_addr"] = f"{ADDRESS}:60422"
    assert run(written(tmp_path / "access.log", [json.dumps(row)]))["imported"] == 1
    assert AccessEvent.objects.get().facts["ip"] == ADDRESS
    assert get_parser("caddy")(json.dumps(row)).status == 200


@pytest.mark.parametrize(
    ("behind", "message"),
    [
        (f'0.003 "-" "{BOT}"', "Behind the size must be the referer in quotes, not '0.003'."),
        (BOT, "Behind the size must be the referer in quotes, not 'Mozilla/5.0'."),
        (f'"{BOT}"', "Behind the referer must be the User-Agent in quotes."),
        ('"GPTBot/1.2" "-"', "The User-Agent must stand behind the referer: 'GPTBot/1.2' is no URL."),
        ('"GPTBot/1.2" "https://www.google.com/"',
         "The User-Agent must stand behind the referer: 'GPTBot/1.2' is no URL."),
        (f'"-" {BOT}', "Behind the referer must be the User-Agent in quotes."),
        (f'"-" "{BOT}', "The line ends within the User-Agent."),
        ("", "There is no User-Agent behind the size. If the whole log is so, name it with --format common."),
    ],
)  # fmt: skip
def test_a_user_agent_that_is_not_in_its_place_is_refused_by_name(account, tmp_path, behind, message):
    publisher(account)
    good, bad = f"{ADDRESS} - - {BEHIND}", f"{ADDRESS} - - {REQUEST} {behind}".rstrip()
    result = run(written(tmp_path / "access.log", [bad, good]))
    assert (result["problems"], result["imported"]) == ([{"line": 1, "message": message}], 1)


def test_odd_referers_and_quotes_in_user_agents_are_read():
    visit = parse_combined(f'{ADDRESS} - - {REQUEST} "odd" "a \\"b\\" \\\\" "more" 0.1')
    assert (visit.referer, visit.user_agent) == ("odd", 'a "b" \\')


def test_a_log_that_is_common_as_a_whole_is_imported_and_the_result_says_so(account, tmp_path):
    publisher(account)
    result = run(written(tmp_path / "access.log", [f"{ADDRESS} - - {REQUEST}"] * 2))
    assert (result["format"], result["imported"]) == ("common", 2)
    assert parse_common(f"{ADDRESS} - - {BEHIND}").user_agent == BOT
    assert "--format common" in refused(str(tmp_path / "access.log"), "--format", "combined")["problems"][0]["message"]


def caddy(**changes):
    request = {"method": "GET", "host": "pub.example", "uri": "/open/a", "headers": {"User-Agent": [BOT]}}
    row = {"ts": YESTERDAY.timestamp(), "logger": "http.log.access", "request": request, "status": 200}
    return {**row, **changes}


URL_ALONE = {"time": "2026-11-24T10:00:00+00:00", "client_ip": ADDRESS, "host": "pub.example", "url": "/a",
             "method": "GET", "user_agent": "GPTBot/1.2"}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_bytes_that_are_no_utf_8_in_json_are_read_as_latin_1(encoding):
    row = caddy(request={**caddy()["request"], "headers": {"User-Agent": ["café"]}})
    line = json.dumps(row, ensure_ascii=False).encode(encoding).decode("latin-1")
    assert get_parser("caddy")(line).user_agent == "café".encode().decode("latin-1")


def test_json_of_another_program_is_refused_by_its_missing_fields(account, tmp_path):
    publisher(account)
    path = written(tmp_path / "access.log", [json.dumps(URL_ALONE)])
    with pytest.raises(Exception, match="format of this log is not known"):
        run(path)
    assert refused(path, "--format", "caddy")["malformed"] == 1
    assert refused(path, "--format", "fastly")["malformed"] == 1
    assert not AccessEvent.objects.exists()
    with pytest.raises(Malformed, match="There is no 'request_method'"):
        get_parser("fastly")(json.dumps(URL_ALONE))


def test_caddys_own_lines_are_counted_and_its_flattened_ones_refused(account, tmp_path):
    publisher(account)
    own = {"level": "info", "ts": 1.5, "logger": "admin", "msg": "admin endpoint started"}
    row = caddy()
    row["request"]["client_ip"] = ADDRESS
    flat = {"ts": 1.5, "logger": "http.log.access", "request>uri": "/a"}
    result = run(written(tmp_path / "access.log", map(json.dumps, [own, row, flat])))
    assert (result["imported"], result["skipped"]["notRequests"], result["malformed"]) == (1, 1, 1)
    assert problems(result) == ["There is no 'request>method'. Add it to the fields that are logged."]
    only = written(tmp_path / "own.log", [json.dumps(own)])
    assert refused(only, message="Nothing can be imported from 1 lines: 1 without a request.")["malformed"] == 0


def test_what_was_no_request_is_counted_as_such_and_not_as_malformed(account, tmp_path):
    publisher(account)
    head = f'{ADDRESS} - - {TIME} "'
    no_requests = [f'{head}-" 400 0 "-" "-"', f'{head}" 408 0 "-" "-"', rf'{head}\x16\x03\x01\x02" 400 150 "-" "-"']
    page = combined(YESTERDAY, "/premium/a", BROWSER)
    answered = f'{head}-" 200 150 "-" "-"'
    result = run(written(tmp_path / "access.log", [page, *no_requests, answered]))
    assert (result["imported"], result["skipped"]["notRequests"], result["malformed"]) == (1, 3, 1)


def test_what_was_no_request_is_no_malformed_line_of_a_json_log_either(account, tmp_path):
    publisher(account)
    row = {"time_iso8601": f"{YESTERDAY:%Y-%m-%dT%H:%M:%S+00:00}", "remote_addr": ADDRESS, "http_user_agent": BROWSER}
    rows = [("GET /premium/a HTTP/1.1", "200"), ("", "400"), ("-", "408"), ("", "200")]
    lines = [json.dumps({**row, "request": request, "status": status}) for request, status in rows]
    result = run(written(tmp_path / "access.log", lines))
    assert result["format"] == "nginx-json"
    assert (result["imported"], result["skipped"]["notRequests"], result["malformed"]) == (1, 2, 1)


def cloudfront(path, query="-", status="200"):
    times = [f"{YESTERDAY:%Y-%m-%d}", f"{YESTERDAY:%H:%M:%S}"]
    return "\t".join([*times, ADDRESS, "GET", "d1.example", path, status, "-", BOT, query, "FRA", "pub.example"])


def test_cloudfronts_own_encoding_is_undone_exactly_once(account, tmp_path):
    policy = factories.policy(account, READERS)
    factories.site(account, {"/*": factories.policy(account, SOLD)}, host="pub.example", mode="observe")
    items = [factories.content(account, source=f"https://pub.example/{uri}", policy_id=policy.pk)
             for uri in ("café", "a?q=caf%C3%A9")]  # fmt: skip
    lines = [HEADERS, cloudfront("/caf%25C3%25A9"), cloudfront("/a", "q=caf%25C3%25A9"), cloudfront("/100%2525")]
    result = run(written(tmp_path / "access.log", lines))
    assert (result["imported"], result["skipped"]["notRequests"]) == (3, 2)
    by_item = {event.content_id: event.facts["url"] for event in AccessEvent.objects.all()}
    assert [by_item.pop(item.pk) for item in items] == ["https://pub.example/caf%C3%A9", "https://pub.example/a"]
    assert list(by_item.values()) == ["https://pub.example/100%25"]


def test_another_w3c_log_is_not_taken_for_cloudfronts(account, tmp_path):
    publisher(account)
    lines = [
        "#Software: Microsoft Internet Information Services",
        "#Version: 1.0",
        "#Fields: date time c-ip cs-method cs-uri-stem sc-status",
        "2026-11-24 10:00:00 192.0.2.1 GET /a 200",
    ]
    result = refused(written(tmp_path / "access.log", lines))
    assert result["format"] == "w3c"
    assert result["problems"][0] == {
        "line": 3, "message": "#Fields names no cs(User-Agent). Add it to the fields that are logged."
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (f"{ADDRESS} other.example - {BEHIND}", "other.example"),
        (f"other.example {ADDRESS} - - {BEHIND}", "other.example"),
        (f"other.example:443 {ADDRESS}, 10.0.0.5 - - {BEHIND}", "other.example"),
        (f"{ADDRESS} - - {BEHIND}".replace("/open/a", "http://other.example/secret"), None),
        (f"pub.example {ADDRESS} - - {BEHIND}".replace("/open/a", "http://other.example/secret"), "pub.example"),
        (f"{ADDRESS} - - {BEHIND}".replace("/open/a", "https://user@pub.example/secret"), None),
    ],
)
def test_a_line_of_another_host_is_not_imported(account, tmp_path, line, host):
    publisher(account)
    assert parse_combined(line).host == host
    own = [f"{ADDRESS} pub.example - {BEHIND}", f"{ADDRESS} - - {BEHIND}".replace("/open/a", "http://pub.example/a")]
    result = run(written(tmp_path / "access.log", [line, *own]))
    assert (result["skipped"]["otherHosts"], result["imported"], result["malformed"]) == (1, 2, 0)


STATUSES = (200, 203, 206, 204, 301, 304, 400, 401, 403, 404, 429, 499, 500, 502, 503, 0)


@pytest.mark.parametrize("log_format", ["combined", "caddy"])
def test_only_what_the_server_answered_with_the_page_was_taken(account, api, tmp_path, log_format, crawler_table):  # noqa: F811
    crawler_table({"name": "GPTBot", "class": "ai_training", "operator": "A", "userAgent": "GPTBot",
                   "addresses": [ADDRESS]})  # fmt: skip
    publisher(account)
    lines = []
    for status in STATUSES:
        row = caddy(status=status)
        row["request"] |= {"client_ip": ADDRESS, "uri": "/sold/a"}
        plain = combined(YESTERDAY, "/sold/a", BOT, address=ADDRESS).replace(" 200 ", f" {status:03} ")
        lines.append(json.dumps(row) if log_format == "caddy" else plain)
    result = run(written(tmp_path / "access.log", lines))
    assert (result["imported"], result["refused"]) == (3, 3)
    assert result["worth"] == [{"amount": 0.045, "currency": "USD"}]
    assert result["skipped"]["notTaken"] == 13
    assert {one["status"]: one["count"] for one in result["notTakenByStatus"]} == {
        "2xx": 1, "3xx": 2, "4xx": 6, "5xx": 3, "other": 1
    }  # fmt: skip
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == 3
    assert result["understoodPercent"] == 100


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((" 200 ", " 404 "), "1 answered with 4xx"),
        (("/open/a", "http://other.example/a"), "1 of other hosts"),
        (("/open/a", "/robots.txt"), "1 of pages open to everybody"),
        (("52.230", "host.x"), "1 malformed. Line 1: 'host.x.152.7' is no IP address."),
    ],
)
def test_a_log_of_which_nothing_is_imported_is_a_failure_that_says_why(account, tmp_path, change, reason):
    publisher(account)
    path = written(tmp_path / "access.log", [f"{ADDRESS} - - {BEHIND}".replace(*change)])
    for options in ([], ["--dry-run"]):
        assert refused(path, *options, message=reason)["imported"] == 0
    refused(written(tmp_path / "empty.log", []), "--format", "combined", message="the log has no lines")


def test_many_lines_with_the_same_problem_leave_room_for_others(account, tmp_path):
    publisher(account)
    good = f"{ADDRESS} - - {BEHIND}"
    names = [good.replace(ADDRESS, f"host-{number}.example") for number in range(150)]
    path = written(tmp_path / "access.log", [good, *names, "no line"])
    result = run(path)
    assert (result["malformed"], [one["line"] for one in result["problems"]]) == (151, [2, 3, 4, 152])
    errors = StringIO()
    call_command("import_access_log", path, "--site", "pub.example", stdout=StringIO(), stderr=errors)
    assert "147 more lines: 'host-2.example' is no IP address." in errors.getvalue()

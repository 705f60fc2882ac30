import json
from collections import Counter
from datetime import timedelta
from io import StringIO
from random import Random

import pytest
from django.core.management import call_command

from licensing.logs.notes import NO_AGENTS
from tests import factories
from tests.commands.access_logs import (
    BROWSER,
    YESTERDAY,
    combined,
    no_names,  # noqa: F401 - a fixture
    publisher,
    run,
    written,
)
from tests.documentation.blocks import block
from tests.edge.conftest import crawler_table  # noqa: F401 - a fixture

AGENTS = {"GPTBot/1.2": "GPTBot", "CCBot/2.0": "CCBot", "Mozilla/5.0 (X11)": None, "ClaudeBot/1.0": "ClaudeBot"}
PAGES = [f"/{folder}/{number}" for folder in ("open", "premium", "sold") for number in range(20)]
STATUSES = [200] * 8 + [206, 304, 404, 503]


def drawn(count):
    random = Random(49)
    return [
        (YESTERDAY + timedelta(seconds=number), random.choice(PAGES), random.choice(list(AGENTS)),
         random.choice(STATUSES), f"203.0.113.{random.randrange(1, 250)}")
        for number in range(count)
    ]  # fmt: skip


def as_combined(moment, uri, agent, status, address):
    return combined(moment, f"{uri}?q=1", agent, address=address).replace(" 200 ", f" {status} ")


def as_json(moment, uri, agent, status, address):
    return json.dumps({
        "time_iso8601": moment.isoformat(), "remote_addr": address, "request": f"GET {uri} HTTP/1.1",
        "status": status, "http_user_agent": agent, "host": "pub.example",
    })  # fmt: skip


def as_own_text(moment, uri, agent, status, address):
    return f'{address}|{moment.timestamp():.3f}|GET|{uri}|{status}|"{agent}"'


OWN_TEXT = '$remote_addr|$msec|$request_method|$request_uri|$status|"$http_user_agent"'


@pytest.mark.parametrize(
    ("write", "options"),
    [(as_combined, []), (as_json, []), (as_own_text, ["--format", OWN_TEXT])],
    ids=["combined", "JSON", "format string"],
)
def test_the_figures_of_all_pages_equal_an_independent_count(account, api, tmp_path, write, options):
    publisher(account)
    requests = drawn(600)
    taken = [one for one in requests if one[3] in (200, 203, 206)]
    result = run(written(tmp_path / "access.log", [write(*one) for one in requests]), *options)
    assert (result["imported"], result["malformed"], result["understoodPercent"]) == (len(taken), 0, 100)
    classes = Counter(f"{status // 100}xx" for _, _, _, status, _ in requests if status not in (200, 206))
    assert {row["status"]: row["count"] for row in result["notTakenByStatus"]} == classes
    pages = api.get("/v1/analytics/pages")
    assert pages["summary"]["requests"] == len(taken)
    shown = {row["url"].removeprefix("https://pub.example"): row["requests"] for row in pages["pages"]}
    assert shown == Counter(uri for _, uri, _, _, _ in taken)
    crawlers = Counter(AGENTS[agent] for _, _, agent, _, _ in taken if AGENTS[agent])
    assert {row["name"]: row["requests"] for row in api.get("/v1/analytics/crawlers")["byCrawler"]} == crawlers


def test_a_host_behind_the_user_agent_is_named_and_read_with_a_format_string(account, tmp_path):
    publisher(account)
    lines = [
        f"{combined(YESTERDAY, '/premium/1', 'GPTBot/1.2')} {host} 0.01 10.0.0.1:8080 HIT"
        for host in ("pub.example", "second.example")
    ]
    path = written(tmp_path / "access.log", lines)
    result = run(path, "--dry-run")
    assert (result["imported"], result["skipped"]["otherHosts"]) == (2, 0)
    [note] = result["notes"]
    assert "'pub.example'" in note
    text = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer"'
    text += ' "$http_user_agent" $host'
    result = run(path, "--dry-run", "--format", text)
    assert (result["imported"], result["skipped"]["otherHosts"], result["notes"]) == (1, 1, [])
    plain = [f"{combined(YESTERDAY, '/premium/1', agent)} 0.01 10.0.0.1:8080 TLSv1.3 -" for agent in AGENTS]
    path = written(tmp_path / "plain.log", plain)
    assert run(path, "--dry-run")["notes"] == []
    factories.site(account, {}, host="second.example")
    [note] = run(path, "--dry-run")["notes"]
    assert note.startswith("The lines do not name a host, so all of them count for pub.example.")


def test_a_log_without_user_agents_says_so(account, tmp_path):
    publisher(account)
    line = combined(YESTERDAY, "/premium/1", "").partition(' "-"')[0]
    result = run(written(tmp_path / "access.log", [line]), "--format", "common", "--dry-run")
    assert result["notes"] == [NO_AGENTS]


MAIN = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" "$http_x_forwarded_for"'
)
CDN = "172.68.10."
VISITOR = "52.230.152."


def line_of(crawler, number, forwarded=f"{VISITOR}{{}}"):
    """Return a line of nginx' format `main` behind a CDN."""
    line = combined(YESTERDAY, "/sold/a", crawler, address=f"{CDN}{number % 9}")
    return f'{line} "{forwarded.format(number)}"'


def as_json(number):
    return json.dumps({
        "time_iso8601": YESTERDAY.isoformat(), "remote_addr": f"{CDN}{number % 9}", "request": "GET /sold/a HTTP/1.1",
        "status": 200, "http_user_agent": "GPTBot/1.0", "http_x_forwarded_for": f"{VISITOR}{number}",
    })  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ([line_of("GPTBot/1.0", number) for number in range(40)], []),
        ([line_of("GPTBot/1.0", number, f"{VISITOR}{{}}, 10.0.0.1") for number in range(40)], ["--format", MAIN]),
        ([as_json(number) for number in range(40)], []),
    ],
)
def test_a_log_that_has_the_visitors_address_beside_that_of_a_cdn_says_so(account, tmp_path, lines, options):
    publisher(account)
    [note] = run(written(tmp_path / "access.log", lines), "--dry-run", *options)["notes"]
    assert "40 of the first 40 lines have another, such as '52.230.152.0'" in note


@pytest.mark.parametrize(
    ("log_format", "forwarded"),
    [
        (MAIN, "-"),
        (block("docs/guides/logs.md", "'$skipped").strip("'\n"), f"{VISITOR}{{}}"),
        (MAIN.replace("$remote_addr", "$http_cf_connecting_ip"), f"{VISITOR}{{}}"),
    ],
)
def test_a_log_whose_visitors_address_is_read_says_nothing_about_another(account, tmp_path, log_format, forwarded):
    publisher(account)
    lines = [line_of("GPTBot/1.0", number, forwarded) for number in range(40)]
    assert run(written(tmp_path / "access.log", lines), "--dry-run", "--format", log_format)["notes"] == []


def test_a_log_of_which_nearly_all_lines_come_from_few_networks_says_so_and_how_many_crawlers_are_verified(
    account,
    tmp_path,
    crawler_table,  # noqa: F811
):
    crawler_table({"name": "GPTBot", "class": "ai_training", "operator": "A", "userAgent": "GPTBot",
                   "addresses": [f"{VISITOR}0/24"]})  # fmt: skip
    publisher(account)
    path = written(
        tmp_path / "access.log", [line_of(agent, number) for number in range(40) for agent in ("GPTBot/1.0", BROWSER)]
    )
    wrong, right = MAIN.removesuffix(' "$http_x_forwarded_for"'), MAIN.replace("$remote_addr", "$cdn")
    rehearsed = run(path, "--dry-run", "--format", right)
    assert (rehearsed["notes"], rehearsed["crawlers"]) == ([], {"verified": 40, "unverified": 0})
    for _ in range(2):  # the second time all lines are imported already
        result = run(path, "--format", wrong)
        [note] = result["notes"]
        assert "Nearly all of the first 80 requests came from the network of 172.68.10.0." in note
    assert result["repeated"] == 80


def said_of_earlier_imports(result):
    return [note for note in result["notes"] if "The site already has" in note]


def test_a_log_whose_requests_are_imported_already_in_another_format_says_so(account, tmp_path):
    publisher(account)
    requests = [one for one in drawn(200) if one[3] in (200, 206)]
    first = written(tmp_path / "access.log", [as_combined(*one) for one in requests])
    second = written(tmp_path / "own.log", [as_own_text(*one) for one in requests])
    assert [said_of_earlier_imports(run(first, *options)) for options in (["--dry-run"], [], [])] == [[], [], []]
    for options in (["--dry-run"], []):
        result = run(second, "--format", OWN_TEXT, *options)
        [note] = said_of_earlier_imports(result)
        assert result["imported"] == len(requests)
        assert f"{len(requests)} requests of other logs between {requests[0][0]:%Y-%m-%d %H:%M} and" in note
    assert said_of_earlier_imports(run(second, "--format", OWN_TEXT)) == []


def test_rotated_logs_that_overlap_or_share_a_second_say_nothing_of_each_other(account, tmp_path):
    publisher(account)
    lines = [as_combined(*one) for one in drawn(500)]
    at_the_same_second = combined(YESTERDAY + timedelta(seconds=299), "/sold/1", BROWSER)
    logs = [lines[:200], lines[100:300], [at_the_same_second, *lines[300:]]]
    results = [run(written(tmp_path / "access.log", log)) for log in logs]
    assert [said_of_earlier_imports(result) for result in results] == [[], [], []]
    assert results[1]["repeated"] > 50


def test_a_rehearsal_says_that_an_import_cannot_be_undone(account, tmp_path):
    publisher(account)
    path = written(tmp_path / "access.log", [combined(YESTERDAY, "/sold/a", "GPTBot/1.0")])
    for options, said in ((["--dry-run"], True), ([], False)):
        out = StringIO()
        call_command("import_access_log", path, "--site", "pub.example", *options, stdout=out)
        assert "1 request came from crawlers, 0 of them verified." in out.getvalue()
        assert ("An import cannot be undone." in out.getvalue()) == said

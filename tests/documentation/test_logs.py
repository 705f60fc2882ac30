import json
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from analytics.models import AccessEvent
from licensing.logs.formats import FORMATS, get_parser
from tests import factories
from tests.client import ApiClient
from tests.commands.calling import printed_json
from tests.documentation.blocks import block, blocks
from tests.edge.conftest import crawler_table  # noqa: F401 - a fixture
from tests.services import free_port

GUIDE = "docs/guides/logs.md"
NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log combined;
    {paths}
    server {{ listen 127.0.0.1:{port}; location / {{ return 200 "page\\n"; }} }}
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
SOLD = {
    "action": "allow", "priority": 1, "conditions": {"licenseType": "crawl"},
    "permissions": ["full_access", "ai_training"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of nginx after requests by a reader, a crawler and a hostile client."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if program is None:
        pytest.skip("nginx is not installed")
    port = free_port()
    paths = " ".join(f"{name}_temp_path {tmp_path}/{name};" for name in TEMPORARY)
    (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, port=port, paths=paths))
    server = subprocess.Popen([program, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"])
    try:
        for path in ("/robots.txt", "/premium/a?b=c"):
            visit(f"http://127.0.0.1:{port}{path}", "GPTBot/1.0")
        visit(f"http://127.0.0.1:{port}/premium/\u00e4", 'A "quoted" \\ reader')
    finally:
        server.terminate()
        server.wait()
    return tmp_path / "access.log"


def visit(url: str, agent: str) -> None:
    for _ in range(100):
        try:
            httpx.get(url, headers={"User-Agent": agent, "Referer": "https://chatgpt.com/c/1"}, trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("nginx does not answer")


def test_the_guide_imports_a_log_of_nginx(account, log, monkeypatch, settings, crawler_table):  # noqa: F811
    crawler_table({"name": "GPTBot", "class": "ai_training", "operator": "OpenAI", "userAgent": "GPTBot",
                   "addresses": ["127.0.0.1"]})  # fmt: skip
    settings.CRAWLER_DNS = False
    monkeypatch.chdir(log.parent)
    factories.site(account, {"/premium/*": factories.policy(account, SOLD)}, host="pub.example")
    commands = [one.text.strip() for one in blocks() if one.path == GUIDE and "manage.py" in one.first]
    assert len(commands) == 2
    for command in commands:
        _, _, arguments = command.partition("manage.py ")
        told = printed_json(*shlex.split(arguments))
        shown = json.loads(block(GUIDE, '{"object"'))
        assert {name: type(value) for name, value in told.items()} == {
            name: type(value) for name, value in shown.items()
        }
        assert (told["format"], told["lines"], told["imported"], told["skipped"]["openPages"]) == ("combined", 3, 2, 1)
        assert told["worth"] == [{"amount": 0.015, "currency": "USD"}]
    agents = {one.facts["userAgent"] for one in AccessEvent.objects.all()}
    assert agents == {"GPTBot/1.0", 'A "quoted" \\ reader'}
    api = ApiClient(factories.key_text(account))
    [crawler] = api.get("/v1/analytics/crawlers")["byCrawler"]
    assert (crawler["name"], crawler["observed"]) == ("GPTBot", 1)
    assert api.get("/v1/analytics/crawlers")["summary"]["referrals"] == 1


def test_the_guide_names_every_format_and_its_format_strings_can_be_used() -> None:
    text = Path(GUIDE).read_text()
    table = text[text.index("| `--format` | log |") : text.index("Prefixes of syslog")]
    first_cells = [row.split("|")[1] for row in table.strip().splitlines()]
    named = {name for cell in first_cells for name in re.findall(r"`([^`]+)`", cell)}
    assert named - {"--format"} == set(FORMATS)
    strings = re.findall(r"\| `'(.+)'` \|", text)
    assert len(strings) == 6
    for string in strings:
        expression = get_parser(string).match.__self__.pattern
        assert not re.search(r"\)[*+?]\+", expression), "Possessive groups are wrong in Python before 3.11.5."

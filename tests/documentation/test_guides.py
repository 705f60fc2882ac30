"""The guides under /docs/guides/, and that what they print does what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from config.guides import FOLDER, NAMES
from kit.rest.error_examples import ADVICE, error_codes
from tests import factories
from tests.clients.generate import PYTHON, ROOT
from tests.openapi.node import TOOLS, needs_node

QUICKSTART = (FOLDER / "quickstart.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", QUICKSTART, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def service(live_server: Any) -> tuple[str, str]:
    return live_server.url, factories.key_text(factories.account())


def told(text: str, service: tuple[str, str]) -> str:
    url, key = service
    return text.replace("http://127.0.0.1:8000", url).replace("svc_sk_…", key)


def ran(*command: object, cwd: Path) -> str:
    environment = {**os.environ, "no_proxy": "*", "PYTHONPATH": str(PYTHON.parent)}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_guide_is_a_page_and_all_are_listed():
    listed = Client().get("/docs/guides/").content.decode()
    assert {path.stem for path in FOLDER.glob("*.md")} == set(NAMES)
    for name in NAMES:
        assert f'href="/docs/guides/{name}/"' in listed
        page = Client().get(f"/docs/guides/{name}/")
        assert (page.status_code, "Content-Security-Policy" in page.headers) == (200, True)
        for link in re.findall(r'href="(/docs/guides/[a-z]+/)', page.content.decode()):
            assert Client().get(link).status_code == 200
    assert Client().get("/docs/guides/nothing/").status_code == 404


def test_the_catalogue_knows_what_to_do_about_every_code():
    assert sorted(ADVICE) == error_codes()


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed.")
@pytest.mark.django_db(transaction=True)
def test_the_quickstart_in_curl(service: tuple[str, str], tmp_path: Path):
    policy, item, denied = map(json.loads, ran("bash", "-euc", told(block("sh"), service), cwd=tmp_path).splitlines())
    assert item["policyId"] == policy["id"]
    assert (denied["allowed"], denied["reason"]) == (False, "no_license")


@pytest.mark.django_db(transaction=True)
def test_the_quickstart_in_python(service: tuple[str, str], tmp_path: Path):
    assert ran(sys.executable, "-c", told(block("python"), service), cwd=tmp_path) == "True ['full_access']\n"


@needs_node
@pytest.mark.django_db(transaction=True)
def test_the_quickstart_in_typescript(service: tuple[str, str], tmp_path: Path):
    package = tmp_path / "node_modules" / "content-access-licensing"
    shutil.copytree(ROOT / "clients" / "typescript", package, ignore=shutil.ignore_patterns("node_modules", "dist"))
    ran(TOOLS / "tsc", "-p", package, cwd=tmp_path)
    (tmp_path / "quick.mjs").write_text(told(block("ts"), service))
    assert ran("node", "quick.mjs", cwd=tmp_path) == "true [ 'full_access' ]\n"


@pytest.mark.django_db(transaction=True)
def test_the_loop_over_pages_finds_everything(service: tuple[str, str], tmp_path: Path):
    url, key = service
    loop = re.search(r"```python\nimport httpx\n(.*?)```", (FOLDER / "pages.md").read_text(), re.DOTALL)
    assert loop
    client = f'import httpx\nhttp = httpx.Client(base_url={url!r}, headers={{"Authorization": "Bearer {key}"}})\n'
    made = 'for number in range(3):\n    http.post("/v1/content", json={"title": f"Item {number}"})\n'
    script = client + made + loop[1].replace('"limit": "100"', '"limit": "1"')
    assert ran(sys.executable, "-c", script, cwd=tmp_path).split("\n")[:3] == ["Item 2", "Item 1", "Item 0"]

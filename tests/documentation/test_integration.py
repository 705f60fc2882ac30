import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from content_access_licensing import Client

from kit.version import VERSION
from run import ROOT
from tests.documentation.blocks import block, blocks
from tests.documentation.running import filled, ran
from tests.kept import TYPES
from tests.openapi.node import FOLDER, needs_node
from tests.served import Service

CLIENTS = "docs/guides/clients.md"
IMPORTED = "from content_access_licensing import Client"  # the first line of whole programs


@needs_node
def test_the_typescript_client_is_installed(tmp_path: Path):
    """Install from a git clone, without changing it."""
    clone, project = tmp_path / "clone", tmp_path / "project"
    tracked = subprocess.check_output(["git", "ls-files", "clients/typescript"], cwd=ROOT, text=True).split()
    for name in tracked:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_bytes((ROOT / name).read_bytes())
    project.mkdir()
    (project / "package.json").write_text('{"type": "module"}')
    printed = block("docs/start/quickstart.md", "npm install").replace("path/to/repository", str(clone))
    ran("bash", "-euc", printed, cwd=project, npm_config_prefer_offline="true")
    assert {str(path.relative_to(clone)) for path in clone.rglob("*") if path.is_file()} == set(tracked)
    assert (project / f"content-access-licensing-{VERSION}.tgz").exists()
    imported = 'import { expressGate } from "content-access-licensing"; console.log(typeof expressGate)'
    assert ran("node", "--input-type=module", "-e", imported, cwd=project) == "function\n"


def test_rows_are_saved_listed_and_exported(service: Service, tmp_path: Path):
    [printed] = [filled(one.text, service) for one in blocks() if one.path == CLIENTS and "client.export" in one.text]
    assert ran(sys.executable, "-c", printed, cwd=tmp_path) == "0 201 None\n1 201 None\nWinds\nTides\n"
    assert len((tmp_path / "content.csv").read_text().splitlines()) == 3


def test_programs_with_the_python_client_are_typed(tmp_path: Path):
    programs = [one.text for one in blocks() if one.first.startswith(IMPORTED)]
    names = [f"program_{number}.py" for number in range(len(programs))]
    for name, text in zip(names, programs, strict=True):
        (tmp_path / name).write_text(text)
    strict = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", TYPES / "programs", "--config-file="]
    assert ran(*strict, *names, cwd=tmp_path) == f"Success: no issues found in {len(names)} source files\n"


@pytest.fixture
def synchronise(service: Service, tmp_path: Path) -> Any:
    """Return a function that synchronises a CMS with these rows by the guide's program, and returns its output."""
    printed = filled(block("docs/guides/sync-a-cms.md", "import sys"), service)

    def run(rows: list[tuple[Any, str, str]], *arguments: str, status: int = 0) -> str:
        (tmp_path / "cms.py").write_text(f"def articles():\n    return {rows!r}\n")
        return ran(sys.executable, "-B", "-c", printed, *arguments, cwd=tmp_path, status=status)

    return run


def articles(*ids: Any) -> list[tuple[Any, str, str]]:
    return [(id, f"Article {id}", f"https://pub.example/{id}") for id in ids]


def test_a_cms_is_synchronised(client: Client, synchronise: Any):
    ours = client.create_content({"title": "Ours", "externalId": "report-1"})
    without_title = ("odd", "", "https://pub.example/odd")

    assert synchronise([*articles(*range(1_100)), without_title], status=1) == "1101 articles, 1 failed, 0 archived\n"
    assert synchronise([*articles(*range(1_098)), without_title], status=1) == "1099 articles, 1 failed, 2 archived\n"
    assert [item["externalId"] for item in client.list_content({"status": "archived"})] == ["cms-1099", "cms-1098"]
    assert synchronise(articles(*range(1_100), "odd")) == "1101 articles, 0 failed, 0 archived\n"
    assert list(client.list_content({"status": "archived"})) == []

    with pytest.raises(AssertionError, match="300 of 1101 articles are gone from the CMS"):
        synchronise(articles(*range(800), "odd"))
    assert list(client.list_content({"status": "archived"})) == []
    assert client.get_content(ours["id"])["status"] == "active"


def test_a_failing_cms_archives_nothing_of_a_small_catalogue(synchronise: Any):
    assert synchronise(articles(1, 2, 3)) == "3 articles, 0 failed, 0 archived\n"
    assert synchronise(articles(1, 2)) == "2 articles, 0 failed, 1 archived\n"
    for missing, ids in (("2 of 3", [3]), ("3 of 3", [])):
        with pytest.raises(AssertionError, match=f"{missing} articles are gone from the CMS. Nothing was archived"):
            synchronise(articles(*ids))
    assert synchronise([], "--archive") == "0 articles, 0 failed, 3 archived\n"
    assert synchronise(articles(1)) == "1 articles, 0 failed, 0 archived\n"
    with pytest.raises(AssertionError, match="1 of 1 articles are gone"):
        synchronise([])


def test_a_row_whose_text_cannot_be_stored_stops_nothing(synchronise: Any):
    rows = [*articles(1), (2, "T\0wo", "https://pub.example/2")]
    assert synchronise(rows, status=1) == "2 articles, 1 failed, 0 archived\n"


VISITS = """
import { request } from "node:http";
import { app } from "./site.mjs";
const server = app.listen(0, "127.0.0.1", async () => {
  const visits = ["/", "/about", "/a/1", "/a/1/", "/A/1", "/assets/app.css"].map((path) => [path, "Firefox"]);
  for (const agent of ["Googlebot", "bingbot", "GPTBot"]) visits.push(["/about", agent], ["/a/1", agent]);
  for (const [path, agent] of visits) {
    const headers = { host: "shop.example", "user-agent": agent };
    const status = await new Promise((done) =>
      request({ port: server.address().port, path, headers }, (reply) => done(reply.resume().statusCode)).end());
    console.log(`${agent}:${path}`, status);
  }
  process.exit();
});
"""


@needs_node
def test_a_site_of_express_refuses_unknown_pages(service: Service, package: Path, tmp_path: Path):
    steps = [filled(block("docs/start/quickstart.md", "URL="), service), block(CLIENTS, "FREE=")]
    *_, site = map(json.loads, ran("bash", "-euo", "pipefail", "-c", "\n".join(steps), cwd=tmp_path).splitlines())
    assert (site["mode"], site["unknown"]) == ("enforce", "deny")
    if not (package / "node_modules" / "express").exists():
        (package / "node_modules" / "express").symlink_to(FOLDER / "node_modules" / "express")
    (package / "site.mjs").write_text(block(CLIENTS, "import { expressGate }").replace("pub.example", "shop.example"))
    (package / "shop.mjs").write_text(VISITS)
    told = ran("node", "shop.mjs", cwd=package, API_URL=service.url, API_KEY=service.key)
    statuses = dict(line.split() for line in told.splitlines())
    assert statuses == {
        "Firefox:/": "404", "Firefox:/about": "200", "Firefox:/assets/app.css": "404",
        "Firefox:/a/1": "402", "Firefox:/a/1/": "402", "Firefox:/A/1": "403",
        "Googlebot:/about": "200", "bingbot:/about": "200", "GPTBot:/about": "403",
        "Googlebot:/a/1": "402", "bingbot:/a/1": "402", "GPTBot:/a/1": "402",
    }  # fmt: skip

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from run import ROOT
from tests.documentation.blocks import DOCUMENTS, block
from tests.documentation.running import filled, ran
from tests.served import Service

README = (ROOT / "README.md").read_text()
KEY_LINE = "URL=http://127.0.0.1:8000 KEY=svc_sk_…"


@pytest.fixture
def shell(tmp_path: Path, service: Service) -> Any:
    """Run lines of the README against the running service; return the JSON objects printed."""

    def run(lines: list[str]) -> list[dict[str, Any]]:
        printed = ran("bash", "-euo", "pipefail", "-c", filled("\n".join(lines), service), cwd=tmp_path)
        return [json.loads(line) for line in printed.splitlines() if line]

    return run


def story() -> list[str]:
    return block("README.md", KEY_LINE).splitlines()


def test_the_story_has_thirteen_lines_and_the_shorthands_of_the_quickstart():
    assert (len(story()), story()[0]) == (13, KEY_LINE)
    quickstart = block("docs/start/quickstart.md", "URL=").splitlines()
    assert [line for line in quickstart if line.startswith(("api()", "id_of()"))] == story()[1:3]


def test_the_story_goes_as_it_is_told_and_again(shell: Any):
    linked, denied, explained, allowed, item, issued, charged, report = shell(story())

    assert linked["policyId"].startswith("pol_")
    assert (denied["allowed"], denied["reason"]) == (False, "no_license")
    assert denied["message"] == "A commercial licence is required."
    wanted = ["commercial", "enterprise"]
    assert explained["trace"][0]["failed"] == {"condition": "licenseType", "wanted": wanted, "saw": None}
    assert explained["dryRun"] is True
    assert (allowed["allowed"], allowed["permissions"]) == (True, ["full_access"])
    assert item["stats"] == {"totalRequests": 2, "allowedRequests": 1, "deniedRequests": 1}
    assert (charged["license"]["id"], charged["charge"]) == (issued["id"], {"amount": 0.05, "currency": "USD"})
    assert report["summary"]["total"] == 0.05

    shell(story())
    _, denied, _, allowed, item, _, charged, _ = shell(story())
    assert (denied["allowed"], allowed["allowed"], charged["charge"]["amount"]) == (False, True, 0.05)
    assert item["stats"]["totalRequests"] >= 4


def test_the_story_goes_as_it_is_told_after_the_quickstart(shell: Any, service: Service, tmp_path: Path):
    ran(sys.executable, "-c", filled(block("docs/start/quickstart.md", "from"), service), cwd=tmp_path)
    _, denied, *_ = shell(story())
    assert (denied["allowed"], denied["reason"]) == (False, "no_license")


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_links_to_is_there(path: Path):
    links = re.findall(r"\]\(([^)#]+)", path.read_text())
    files = [link for link in links if not link.startswith(("http:", "https:", "mailto:"))]
    assert [link for link in files if not path.parent.joinpath(link).exists()] == []


@pytest.mark.parametrize(
    "page", ["CONTRIBUTING.md", "docs/contributing/development.md", "docs/explanation/architecture.md"]
)
def test_every_file_that_contributors_are_sent_to_is_there(page: str):
    named = re.findall(r"`([a-z_]+/[\w/.-]+\.\w+)`", (ROOT / page).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []

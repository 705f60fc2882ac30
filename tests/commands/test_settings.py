import asyncio
import json
import os
import re
import subprocess
import sys

import pytest
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from config.jobs import JOBS_OF_EACH_PROCESS, run_job
from launcher.testing import SETTINGS
from operators.catalogue.uploads import purge
from run import ROOT
from tests.documentation.blocks import block

# Reads the settings anew for each environment; the libraries that they import are loaded once.
READ_SETTINGS = """
import json, os, sys

refusals = []
for environment in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update(environment)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("config", "kit")]:
        del sys.modules[name]
    try:
        import config.settings
        refusals.append(None)
    except SystemExit as error:
        refusals.append(error.code)
print(json.dumps(refusals))
"""


def refusals(tmp_path, *environments: dict[str, str]) -> list[str | None]:
    """Return what the settings say of each of these environments, None of those that they accept."""
    whole = [{"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **environment} for environment in environments]
    done = subprocess.run(
        [sys.executable, "-c", READ_SETTINGS], input=json.dumps(whole), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}
ON_S3 = {**KEYS, "AWS_ENDPOINT_URL": "https://s3.internal:9000"}
URLS = ["https://api.example.com", "api.example.com:8000", "api.example.com/v1"]
NO_ARCHIVES = [
    "s3:/bucket/x", "s3://", "s3://Bucket/x", "s3://b/x", "s3://bucket//x", "s3://bucket/a b", "s3://bucket/../x",
    "s3://key:secret@bucket/x", "s3://bucket/x?region=eu", "gs://bucket/x", "file:///srv", "https://s3/bucket",
]  # fmt: skip


INVALID = (
    ("ALLOWED_HOSTS", URLS, "must be a host name such as api.example.com"),
    ("ADMIN_HOST", URLS, "must be a host name such as api.example.com"),
    ("WEBHOOK_RETRY_SCHEDULE", ["0,,5", "0,5,", "0,x", "-1"], "must be seconds separated by commas"),
    ("ARCHIVE_DIR", NO_ARCHIVES, "must be a folder or s3://bucket/prefix"),
)
VALID = (
    ("ALLOWED_HOSTS", ["*", ".example.com,[::1]", "api.example.com, 127.0.0.1"]),
    ("WEBHOOK_RETRY_SCHEDULE", ["", " ", "0", "0, 5"]),
    ("ARCHIVE_DIR", ["", "archive", "/srv/my archive", "s3://bucket", "s3://my.bucket/a/b-c_d/"]),
)


def half_of_the_keys(name: str) -> dict[str, str]:
    return {name: KEYS[name]}


def test_settings_are_read_or_refused_with_their_value(tmp_path):
    """All in one process, because a start takes a second."""
    guide = dict(line.split("=", 1) for line in block("docs/guides/archive.md", "ARCHIVE_DIR").splitlines())
    assert len(guide) == 4
    accepted = [{"ADMIN_HOST": "admin.example.com", **ON_S3, name: value} for name, some in VALID for value in some]
    accepted += [guide, *map(half_of_the_keys, KEYS)]
    refused = [
        ({name: value, **KEYS}, [f"{name} {message}", f"not {value!r}"])
        for name, values, message in INVALID
        for value in values
    ]
    no_url = {"ARCHIVE_DIR": "s3://bucket/x", "AWS_ENDPOINT_URL_S3": "s3.internal:9000", **KEYS}
    refused.append((no_url, ["AWS_ENDPOINT_URL_S3 must be a URL that begins with http or https"]))
    for folder in ("/srv/a?b", "/srv/a#b", "a%20b"):
        refused.append(({"ARCHIVE_DIR": folder}, ["ARCHIVE_DIR must be a folder without ?, # and % in its path"]))
    for name, other in zip(KEYS, reversed(KEYS), strict=True):
        half = {"ARCHIVE_DIR": "s3://bucket/x", **half_of_the_keys(name)}
        refused.append((half, [f"Set the environment variable {other}, too"]))
    without_secret = {name: value for name, value in guide.items() if name != "AWS_SECRET_ACCESS_KEY"}
    refused.append((without_secret, ["AWS_SECRET_ACCESS_KEY"]))

    errors = refusals(tmp_path, *accepted, *(environment for environment, _ in refused))
    for environment, error in zip(accepted, errors, strict=False):
        assert error is None, environment
    for (environment, words), error in zip(refused, errors[len(accepted) :], strict=True):
        assert error is not None, environment
        assert [one for one in words if one not in error] == [], environment
        assert not any(secret in error for secret in KEYS.values()), environment


@pytest.mark.parametrize(
    ("conninfo", "ports"),
    [
        ("host=db1,db2 port=5432", "5432,5432"),
        ("host=db1,db2,db3 port=1,2,3", "1,2,3"),
        ("host=db1 port=5432", "5432"),
        ("postgresql://lic:p%40s@db1,db2/x?target_session_attrs=read-write", ","),
    ],
)
def test_the_catalogue_is_on_the_servers_of_the_database(conninfo, ports):
    from sqlalchemy import create_engine  # takes half a second, which every worker would spend

    from analytics.archive.table import sqlalchemy_url

    engine = create_engine(sqlalchemy_url(conninfo))
    _, options = engine.dialect.create_connect_args(engine.url)
    assert options.pop("port") == ports
    assert options.items() >= {(name, one) for name, one in conninfo_to_dict(conninfo).items() if name != "port"}


def test_an_invalid_setting_stops_the_start(tmp_path):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "ADMIN_HOST": URLS[0]}
    command = [sys.executable, "-c", "import config.settings"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("The environment variable ADMIN_HOST must be")


def test_a_data_dir_that_cannot_be_used_is_reported_without_a_traceback(tmp_path, monkeypatch, caplog):
    file = tmp_path / "file"
    file.touch()
    environment = {**os.environ, "DATA_DIR": str(file / "below"), "SECRET_KEY": ""}
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"DATA_DIR, {file}/below, cannot be used: Not a directory." in done.stderr

    monkeypatch.setattr(settings, "DATA_DIR", file / "below")
    [job] = [one for one in JOBS_OF_EACH_PROCESS if one.act is purge]
    asyncio.run(run_job(job))  # while the service runs
    [record] = caplog.records
    assert record.exc_info is None
    assert "Not a directory" in record.getMessage()


def test_every_setting_is_on_the_page_of_settings_and_kept_from_tests():
    settings = "".join(path.read_text() for path in (ROOT / "config").glob("*settings.py"))
    read = set(re.findall(r'\benv(?:_\w+)?\("([A-Z0-9_]+)"', settings))
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([A-Z0-9_]+)`", " ".join(rows))) == read, "docs/reference/settings.md lists all."
    assert read - {"DATA_DIR"} <= SETTINGS, "Tests do not inherit what the page lists."

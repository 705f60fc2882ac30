import asyncio
import os
import subprocess
import sys

import pytest
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import create_engine

from analytics.archive.table import sqlalchemy_url
from config.jobs import JOBS_OF_EACH_PROCESS, run
from operators.base.uploads import purge
from tests.documentation.blocks import block


def start(tmp_path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Read the settings with these environment variables."""
    return subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}
ON_S3 = {**KEYS, "AWS_ENDPOINT_URL": "https://s3.internal:9000"}
URLS = ["https://api.example.com", "api.example.com:8000", "api.example.com/v1"]
NO_ARCHIVES = [
    "s3:/bucket/x", "s3://", "s3://Bucket/x", "s3://b/x", "s3://bucket//x", "s3://bucket/a b", "s3://bucket/../x",
    "s3://key:secret@bucket/x", "s3://bucket/x?region=eu", "gs://bucket/x", "file:///srv", "https://s3/bucket",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("ALLOWED_HOSTS", URLS, "must be a host name such as api.example.com"),
        ("ADMIN_HOST", URLS, "must be a host name such as api.example.com"),
        ("WEBHOOK_RETRY_SCHEDULE", ["0,,5", "0,5,", "0,x", "-1"], "must be seconds separated by commas"),
        ("ARCHIVE_DIR", NO_ARCHIVES, "must be a folder or s3://bucket/prefix"),
    ],
)
def test_invalid_settings_stop_the_start(tmp_path, name, values, message):
    for value in values:
        done = start(tmp_path, **{name: value}, **KEYS)
        assert done.returncode == 1
        assert f"{name} {message}" in done.stderr
        assert f"not {value!r}" in done.stderr


def test_hosts_schedules_folders_and_buckets_are_accepted(tmp_path):
    for name, values in (
        ("ALLOWED_HOSTS", ["*", ".example.com,[::1]", "api.example.com, 127.0.0.1"]),
        ("WEBHOOK_RETRY_SCHEDULE", ["", " ", "0", "0, 5"]),
        ("ARCHIVE_DIR", ["", "archive", "/srv/my archive", "s3://bucket", "s3://my.bucket/a/b-c_d/"]),
    ):
        for value in values:
            done = start(tmp_path, **{"ADMIN_HOST": "admin.example.com", **ON_S3, name: value})
            assert done.returncode == 0, (name, value)


def test_folders_with_characters_of_urls_and_endpoints_without_a_scheme_are_refused(tmp_path):
    for value in ("/srv/a?b", "/srv/a#b", "a%20b"):
        done = start(tmp_path, ARCHIVE_DIR=value)
        assert "ARCHIVE_DIR must be a folder without ?, # and % in its path" in done.stderr
    done = start(tmp_path, ARCHIVE_DIR="s3://bucket/x", AWS_ENDPOINT_URL_S3="s3.internal:9000", **KEYS)
    assert "AWS_ENDPOINT_URL_S3 must be a URL that begins with http or https" in done.stderr


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
    engine = create_engine(sqlalchemy_url(conninfo))
    _, options = engine.dialect.create_connect_args(engine.url)
    assert options.pop("port") == ports
    assert options.items() >= {(name, one) for name, one in conninfo_to_dict(conninfo).items() if name != "port"}


@pytest.mark.parametrize("name", KEYS)
def test_half_of_the_credentials_is_refused_on_s3_alone(name, tmp_path):
    [other] = set(KEYS) - {name}
    done = start(tmp_path, ARCHIVE_DIR="s3://bucket/x", **{name: KEYS[name]})
    assert done.returncode == 1
    assert f"Set the environment variable {other}, too" in done.stderr
    assert KEYS[name] not in done.stderr
    assert start(tmp_path, **{name: KEYS[name]}).returncode == 0


def test_the_variables_of_the_guide_are_accepted_together(tmp_path):
    printed = dict(line.split("=", 1) for line in block("docs/guides/archive.md", "ARCHIVE_DIR").splitlines())
    assert len(printed) == 4
    assert start(tmp_path, **printed).returncode == 0
    del printed["AWS_SECRET_ACCESS_KEY"]
    assert start(tmp_path, **printed).returncode == 1


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
    asyncio.run(run(job))  # while the service runs
    [record] = caplog.records
    assert record.exc_info is None
    assert "Not a directory" in record.getMessage()

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import create_engine

from analytics.archive.table import url_of
from tests.commands.starting import start
from tests.documentation.blocks import block

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}


@pytest.mark.parametrize(
    "value",
    [
        "s3:/bucket/x",
        "s3://",
        "s3://Bucket/x",
        "s3://b/x",
        "s3://bucket//x",
        "s3://bucket/a b",
        "s3://bucket/../x",
        "s3://key:secret@bucket/x",
        "s3://bucket/x?region=eu",
        "gs://bucket/x",
        "file:///srv",
        "https://s3/bucket",
    ],
)
def test_invalid_archive_directories_are_refused(value, tmp_path):
    done = start(tmp_path, ARCHIVE_DIR=value, **KEYS)
    assert done.returncode == 1
    assert "ARCHIVE_DIR must be a folder or s3://bucket/prefix" in done.stderr
    assert f"not {value!r}" in done.stderr


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
    engine = create_engine(url_of(conninfo))
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


@pytest.mark.parametrize("value", ["", "archive", "/srv/my archive", "s3://bucket", "s3://my.bucket/a/b-c_d/"])
def test_folders_and_buckets_are_accepted(value, tmp_path):
    assert start(tmp_path, ARCHIVE_DIR=value, AWS_ENDPOINT_URL="https://s3.internal:9000", **KEYS).returncode == 0


def test_the_variables_of_the_guide_are_accepted_together(tmp_path):
    printed = dict(line.split("=", 1) for line in block("docs/guides/archive.md", "ARCHIVE_DIR").splitlines())
    assert len(printed) == 4
    assert start(tmp_path, **printed).returncode == 0
    del printed["AWS_SECRET_ACCESS_KEY"]
    assert start(tmp_path, **printed).returncode == 1

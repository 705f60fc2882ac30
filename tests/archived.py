"""The archive as any reader of its files finds it, without its catalogue; and fixtures of places for it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, S3FileSystem, copy_files
from pyiceberg.table import StaticTable

from analytics.archive.copying import FIELDS
from analytics.archive.layout import COLUMNS
from analytics.archive.table import DecisionTable
from analytics.events.partitions import month_start
from analytics.models import AccessEvent
from tests.analytics.recording import record_all, some_events
from tests.services import UnavailableError
from tests.services.s3_server import REGION, S3, s3

BUCKET = "decisions-of-the-tests"


@dataclass
class Place:
    """A folder or a prefix of a bucket."""

    setting: str  # the value of ARCHIVE_DIR
    system: FileSystem
    variables: dict[str, str] = field(default_factory=dict)  # of the environment, besides ARCHIVE_DIR

    @property
    def path(self) -> str:
        return self.setting.removeprefix("s3://")

    @property
    def uri(self) -> str:
        return self.setting if self.setting.startswith("s3://") else f"file://{self.setting}"

    def files(self, ending: str = "") -> list[str]:
        """Return the paths of the files with this ending, in order."""
        selector = FileSelector(self.path, recursive=True, allow_not_found=True)
        return sorted(
            one.path for one in self.system.get_file_info(selector) if one.is_file and one.path.endswith(ending)
        )

    def delete(self, ending: str) -> None:
        for path in self.files(ending):
            self.system.delete_file(path)

    def copy_to(self, other: "Place") -> None:
        copy_files(f"{self.path}/licensing", f"{other.path}/licensing", source_filesystem=self.system,
                   destination_filesystem=other.system)  # fmt: skip

    def beside(self) -> "Place":
        return Place(f"{self.setting}-moved", self.system, self.variables)

    def texts(self) -> str:
        """Return everything that the files say, unpacked."""
        texts = []
        for path in self.files():
            with self.system.open_input_file(path) as file:
                is_table = path.endswith(".parquet")
                texts.append(str(parquet.read_table(file).to_pylist()) if is_table else file.read().decode("latin-1"))
        return "\n".join(texts)


def on_disk(folder: Path) -> Place:
    return Place(str(folder), LocalFileSystem())


def on_s3(server: S3, prefix: str) -> Place:
    key, secret = server.owner.values()
    system = S3FileSystem(access_key=key, secret_key=secret, endpoint_override=server.url, region=REGION)
    return Place(f"s3://{BUCKET}/{prefix}", system, server.environment())


def newest_table(place: Place) -> StaticTable | None:
    """Return the newest version of the table, or None before the first run."""
    names = {
        "AWS_ENDPOINT_URL": "s3.endpoint",
        "AWS_REGION": "s3.region",
        "AWS_ACCESS_KEY_ID": "s3.access-key-id",
        "AWS_SECRET_ACCESS_KEY": "s3.secret-access-key",
    }
    properties = {names[name]: value for name, value in place.variables.items()}
    scheme = place.uri.partition("://")[0]
    versions = [path for path in place.files(".metadata.json") if not path.rpartition("/")[2].startswith("v")]
    return StaticTable.from_metadata(f"{scheme}://{versions[-1]}", properties) if versions else None


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    try:
        with s3() as server:
            server.create_bucket(BUCKET)
            yield server
    except UnavailableError as error:
        pytest.skip(str(error))


def use(place, settings, monkeypatch):
    """Let the service of this process keep its archive there."""
    settings.ARCHIVE_DIR = place.setting
    settings.ARCHIVE_ENDPOINT = place.variables.get("AWS_ENDPOINT_URL", "")
    settings.ARCHIVE_REGION = place.variables.get("AWS_REGION", "")
    for name, value in place.variables.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def folder(settings, tmp_path, monkeypatch):
    """An archive on the disk."""
    place = on_disk(tmp_path / "archive")
    use(place, settings, monkeypatch)
    return place


@pytest.fixture
def prefix(settings, tmp_path, monkeypatch, s3_server):
    """An archive on S3."""
    place = on_s3(s3_server, f"{uuid4().hex}/archive")
    settings.DATA_DIR = tmp_path  # of the catalogue on SQLite
    use(place, settings, monkeypatch)
    return place


@pytest.fixture(params=["folder", "prefix"], ids=["disk", "S3"])
def place(request):
    """An archive on the disk, and on S3."""
    return request.getfixturevalue(request.param)


BEGIN = datetime(2025, 11, 20, tzinfo=UTC)


NOW = datetime(2026, 2, 3, tzinfo=UTC)


def archived(table):
    """Return the archive's rows by id, without the month."""
    rows = table.table.refresh().scan().to_arrow().to_pylist()
    assert len(rows) == len({row["id"] for row in rows})
    return {row["id"]: {name: value for name, value in row.items() if name != "month"} for row in rows}


def recorded(before=NOW):
    """Return the decisions of closed months in the same form."""
    names = [name for name in COLUMNS if name != "month"]
    rows = AccessEvent.objects.filter(created__lt=month_start(before)).values_list("account_id", *FIELDS)
    return {
        row[1]: dict(zip(names, (*row[:-1], json.dumps(row[-1], separators=(",", ":"))), strict=True)) for row in rows
    }


def months():
    return len({(row["account"], month_start(row["created"])) for row in recorded().values()})


@pytest.fixture(autouse=True)
def table(place, db):
    """The archive of this test. Its catalogue is outside the test's transaction."""
    with DecisionTable() as table:
        yield table
        table.discard()


@pytest.fixture
def events(account):
    events = some_events(account, 300, BEGIN, 76, seed=7)
    record_all(events)
    return events

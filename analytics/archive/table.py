"""The Iceberg table of decisions, one partition for each account and month (the Iceberg table specification, v2).

Its catalogue is in the service's own database; with SQLite beside the files, or in DATA_DIR if they are on S3.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Self

import orjson
import pyarrow as pa
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict
from pyarrow import parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestamptzType,
)
from sqlalchemy import URL

from analytics.archive import store
from analytics.archive.layout import (
    COLUMNS,
    DECISIONS,
    NAMESPACE,
    AccountMonth,
    archive_uri,
    is_own_file,
    is_remote,
    table_uri,
)
from analytics.archive.only_copies import only_copies
from analytics.archive.store import ArchiveError
from kit.private_files import private_database, private_directory
from kit.storage.by_database import by_database
from kit.storage.postgresql.poolers import connection_string

NAME = f"{NAMESPACE}.{DECISIONS}"
EPOCH = date(1970, 1, 1)
COPY_AGAIN = "Run `manage.py archive_events --anew` to copy everything again."
Row = Sequence[object]  # values in the order of COLUMNS
ICEBERG_TYPES: dict[str, PrimitiveType] = {
    "boolean": BooleanType(),
    "date": DateType(),
    "int": IntegerType(),
    "long": LongType(),
    "string": StringType(),
    "timestamptz": TimestamptzType(),
}
SCHEMA = Schema(
    *(
        NestedField(number, name, ICEBERG_TYPES[column.kind], required=column.required)
        for number, (name, column) in enumerate(COLUMNS.items(), 1)
    )
)
ARROW_SCHEMA = schema_to_pyarrow(SCHEMA, include_field_ids=False)
PARTITIONS = PartitionSpec(
    PartitionField(1, 1000, IdentityTransform(), "account"), PartitionField(2, 1001, IdentityTransform(), "month")
)
PROPERTIES = {
    "schema.name-mapping.default": SCHEMA.name_mapping.model_dump_json(),  # files are written without field ids
    # Manifests keep the least and greatest values of columns, and an erasure does not rewrite them all.
    "write.metadata.metrics.column.facts": "none",
    "write.metadata.metrics.column.requester_id": "none",
}
HASH_BYTES = 7  # so that the sum of any number of rows, reduced to 56 bits, fits into a BIGINT
MODULUS = 1 << 8 * HASH_BYTES


class Checksum:
    """The number of rows and a sum of their hashes, which does not depend on their order."""

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            digest = blake2b(orjson.dumps(row), digest_size=HASH_BYTES).digest()
            self.sum = (self.sum + int.from_bytes(digest)) % MODULUS
            self.rows += 1

    @property
    def value(self) -> tuple[int, int]:
        return self.rows, self.sum


class DecisionTable:
    """The table, created on first use. Raises ArchiveError if it is not in ARCHIVE_DIR or its files are missing."""

    def __init__(self) -> None:
        store.prepare()
        properties = store.pyiceberg_properties()
        self.catalogue = SqlCatalog("licensing", uri=catalogue_url(), warehouse=archive_uri(), **properties)
        self.catalogue.create_namespace_if_not_exists(NAMESPACE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.catalogue.engine.dispose()
        if isinstance(error, OSError | pa.ArrowException):
            raise store.unusable_error(error) from error

    @cached_property
    def table(self) -> Table:
        try:
            table = self.catalogue.create_table_if_not_exists(
                NAME, SCHEMA, partition_spec=PARTITIONS, properties=PROPERTIES
            )
        except FileNotFoundError as error:
            remedy = COPY_AGAIN
            is_in_archive_dir = store.path_from_uri(table_uri()) in str(error)
            if is_in_archive_dir and only_copies().exists():
                remedy = "Restore it from a backup of ARCHIVE_DIR."
            raise ArchiveError(f"A file of the archive is missing: {error}. {remedy}") from None
        if table.location() != table_uri():
            raise ArchiveError(f"The archive is in {table.location()}, not in ARCHIVE_DIR. {COPY_AGAIN}")
        return table

    def is_new(self) -> bool:
        """Return whether the catalogue has no table yet, although there may be files of one."""
        try:
            self.catalogue.load_table(NAME)
        except NoSuchTableError:
            return True
        except FileNotFoundError:
            return False
        return False

    def discard(self, keep: AbstractSet[str] = frozenset()) -> None:
        """Forget the table and delete its files except those to keep. The next use creates it again.

        Call `check_only_copies` and `check_copied` before.
        """
        with suppress(NoSuchTableError):
            self.catalogue.drop_table(NAME)
        self.__dict__.pop("table", None)
        delete_except(keep)

    def months(self) -> set[AccountMonth]:
        files = [task.file for task in self.table.refresh().scan().plan_files()]
        return {AccountMonth(file.partition[0], EPOCH + timedelta(days=file.partition[1])) for file in files}

    def count_rows(self, account_id: str, month: date) -> int:
        tasks = self.table.refresh().scan(row_filter=month_filter(account_id, month)).plan_files()
        return sum(task.file.record_count for task in tasks)

    def write(self, path: str, chunks: Iterable[Sequence[Row]]) -> Checksum:
        """Write rows to a file that is not part of the table yet."""
        checksum = Checksum()
        with (
            self.table.io.new_output(path).create(overwrite=True) as file,
            parquet.ParquetWriter(file, ARROW_SCHEMA, compression="zstd") as writer,
        ):
            for rows in chunks:
                values = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
                writer.write_table(pa.table(values, schema=ARROW_SCHEMA))
                checksum.add(rows)
        return checksum

    def read(self, path: str) -> Iterator[list[Row]]:
        """Yield the rows of a file in its groups."""
        with self.table.io.new_input(path).open() as file:
            with store.reading(path):
                parts = parquet.ParquetFile(file, pre_buffer=is_remote())  # one request to S3 for each group
            for number in range(parts.num_row_groups):
                with store.reading(path):
                    group = parts.read_row_group(number, use_threads=False)
                yield list(zip(*(column.to_pylist() for column in group.columns), strict=True))

    def checksum(self, path: str) -> Checksum:
        """Read a file and return its checksum."""
        checksum = Checksum()
        for rows in self.read(path):
            checksum.add(rows)
        return checksum

    def replace(self, account_id: str, month: date, path: str | None) -> None:
        """Make the file all that the table has of the month, in one commit; None removes the month."""
        table = self.table.refresh()
        of_month = month_filter(account_id, month)
        has_month = any(True for _ in table.scan(row_filter=of_month).plan_files())
        with table.transaction() as transaction:
            if has_month:
                transaction.delete(of_month)
            if path is not None:
                transaction.add_files([path])

    def prune(self, keep: AbstractSet[str] = frozenset()) -> None:
        """Forget former snapshots, name the newest version, and delete all files that it does not need."""
        table = self.table.refresh()
        if len(table.snapshots()) > 1:
            table.maintenance.expire_snapshots().older_than(datetime.now(UTC)).commit()
        needed = {table.metadata_location, *self.write_hint(table)}
        snapshot = table.current_snapshot()
        if snapshot is not None:
            needed |= {snapshot.manifest_list, *(manifest.manifest_path for manifest in snapshot.manifests(table.io))}
            needed |= {task.file.file_path for task in table.scan().plan_files()}
        delete_except(needed | keep)

    def write_hint(self, table: Table) -> list[str]:
        """Let engines that know only the folder find the newest version. Returns the files for that.

        They read a number from version-hint.text, and open that version's metadata under its name in Hadoop's form.
        """
        folder = f"{table_uri()}/metadata"
        number = max(int(table.metadata_location.rpartition("/")[2].partition("-")[0]), 1)
        metadata_uri = f"{folder}/v{number}.metadata.json"
        hint_uri = f"{folder}/version-hint.text"
        with table.io.new_input(table.metadata_location).open() as file:
            metadata = file.read()
        for uri, content in ((metadata_uri, metadata), (hint_uri, str(number).encode())):
            with table.io.new_output(uri).create(overwrite=True) as output:
                output.write(content)
        return [metadata_uri, hint_uri]


def delete_except(needed: AbstractSet[str]) -> None:
    # Metadata first: whoever reads the files never finds a version of the table whose other files are gone.
    unused = {uri for uri in store.files() - needed if is_own_file(uri)}
    for uri in sorted(unused, key=lambda uri: (not uri.endswith(".metadata.json"), uri)):
        store.delete(uri)


def month_filter(account_id: str, month: date) -> str:
    return f"account == '{account_id}' and month == '{month}'"


def catalogue_url() -> str:
    build = by_database(postgresql=lambda: sqlalchemy_url(connection_string()), sqlite=url_of_file)
    return build()


def url_of_file() -> str:
    if is_remote():
        folder = Path(settings.DATA_DIR, "archive")
    else:
        folder = Path(settings.ARCHIVE_DIR)
    private_directory(folder)
    private_database(folder / "catalogue.db")
    return f"sqlite:///{folder / 'catalogue.db'}"


def sqlalchemy_url(conninfo: str) -> str:
    """Return a connection string as SQLAlchemy's URL."""
    options = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    hosts = options.get("host", "").split(",")
    port = options.get("port")
    if len(hosts) > 1 and port is not None and "," not in port:
        options["port"] = ",".join([port] * len(hosts))  # SQLAlchemy wants one for each host
    return URL.create("postgresql+psycopg", query=options).render_as_string(hide_password=False)

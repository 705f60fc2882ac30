"""The archive's files, named by their URIs: in a folder, or in an S3 bucket.

pyarrow finds the credentials of S3 as all programs for AWS do: in the environment, in ~/.aws, or by the machine's
role.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from django.conf import settings
from django.core.exceptions import ValidationError
from pyarrow.fs import AwsStandardS3RetryStrategy, FileSelector, FileSystem, FileType, LocalFileSystem, S3FileSystem

from analytics.archive.layout import NAMESPACE, archive_uri, is_remote, table_uri
from kit.private_files import OTHERS, private_directory, remove_permissions


class Patience(NamedTuple):
    """The limits on waiting for S3: seconds to connect, seconds without a byte, and attempts."""

    connect: float
    read: float
    attempts: int


PATIENCE_OF_REQUESTS = Patience(1.0, 3.0, 2)  # a request fails within 7 seconds if S3 does not answer
PATIENCE_OF_COMMANDS = Patience(5.0, 30.0, 3)


class ArchiveError(ValidationError):
    """Why nothing was archived or reported, in a sentence."""


def file_system(*, for_requests: bool = False) -> FileSystem:
    if not is_remote():
        return LocalFileSystem()
    patience = PATIENCE_OF_REQUESTS if for_requests else PATIENCE_OF_COMMANDS
    return s3(settings.ARCHIVE_ENDPOINT, settings.ARCHIVE_REGION, patience)


@lru_cache(maxsize=4)
def s3(endpoint: str, region: str, patience: Patience) -> S3FileSystem:
    pa.set_io_thread_count(settings.THREADS + settings.HEAVY_THREADS)  # so that no request waits for another's
    return S3FileSystem(
        endpoint_override=endpoint or None,
        region=region or None,
        connect_timeout=patience.connect,
        request_timeout=patience.read,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=patience.attempts),
    )


def pyiceberg_properties() -> dict[str, str]:
    """Return the settings of S3 for pyiceberg, which would look up the bucket's region at Amazon if none was given."""
    if not is_remote():
        return {}

    options = {
        "s3.endpoint": settings.ARCHIVE_ENDPOINT,
        "s3.region": file_system().region,
        "s3.connect-timeout": str(PATIENCE_OF_COMMANDS.connect),
        "s3.request-timeout": str(PATIENCE_OF_COMMANDS.read),
    }
    return {name: value for name, value in options.items() if value}


def prepare() -> None:
    """Create the folder, or check the access to the bucket. Raises ArchiveError."""
    try:
        if not is_remote():
            private_directory(Path(settings.ARCHIVE_DIR))
            return
        bucket = path_from_uri(archive_uri()).partition("/")[0]
        if file_system().get_file_info(bucket).type == FileType.NotFound:
            raise ArchiveError(f"The bucket {bucket} of ARCHIVE_DIR does not exist.")
    except OSError as error:
        raise unusable_error(error) from error


def unusable_error(error: Exception) -> ArchiveError:
    return ArchiveError(f"The archive in {archive_uri()} cannot be read or written: {error}")


@contextmanager
def reading(uri: str) -> Iterator[None]:
    """Raises OSError also if the file is damaged, for which pyarrow has errors of its own."""
    try:
        yield
    except pa.ArrowException as error:
        raise OSError(f"{uri} is damaged: {error}") from error


def path_from_uri(uri: str) -> str:
    return uri.partition("://")[2]


def files() -> set[str]:
    """Return the URIs of all files below the table's folder."""
    return files_below(table_uri())


def files_below(uri: str) -> set[str]:
    scheme = uri.partition("://")[0]
    selector = FileSelector(path_from_uri(uri), recursive=True, allow_not_found=True)
    return {f"{scheme}://{info.path}" for info in file_system().get_file_info(selector) if info.is_file}


def restrict_permissions() -> None:
    """Remove everybody's permissions from the files of earlier versions. A group's, and ACLs, stay."""
    if is_remote():
        return
    folder = Path(path_from_uri(archive_uri()), NAMESPACE)
    for path in (folder, *folder.rglob("*")):
        remove_permissions(path, OTHERS)


def delete(uri: str) -> None:
    file_system().delete_file(path_from_uri(uri))


def sync() -> None:
    """Wait until the disk has the archive. S3 has stored what it has accepted."""
    if is_remote():
        return
    folder = Path(path_from_uri(table_uri()))
    for path in (folder, *folder.rglob("*")):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)

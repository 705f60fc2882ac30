"""Files uploaded by operators, kept between pages under DATA_DIR for up to a day.

File names cannot be guessed, and only the operator who uploaded a file finds it, even after another login. Its
metadata is stored beside it as JSON. All processes on a machine share the files; machines do not.
"""

import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Generic, TypeVar, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from kit.http.errors import ApiError
from licensing.imports import preview
from operators.base.requests import signed_in

MAX_UPLOAD_BYTES = 20 * 1024 * 1024  # of an uploaded file
LARGER_LOGS = "Larger logs are for the command import_access_log (docs/guides/logs.md)."
LARGER_FILES = {  # what to do with them, by the URL name of each page that takes a file
    "admin:licensing_content_import_items": preview.LARGER,
    "admin:licensing_site_import_log": LARGER_LOGS,
}

EXPIRED = "This import has expired: files are kept for a day. Upload the file again."
MetadataT = TypeVar("MetadataT", bound=Mapping[str, object])  # a TypedDict of JSON values
DAY = 24 * 3600
INTERRUPTED = "It was interrupted before its end."
match_token = re.compile(r"[A-Za-z0-9_-]{43}").fullmatch


def directory() -> Path:
    path = Path(settings.DATA_DIR) / "uploads"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def temporary_file() -> BinaryIO:
    """Return an unnamed file for an incoming body."""
    return cast(BinaryIO, TemporaryFile(dir=directory()))


class UploadField(forms.FileField):
    """A file of up to MAX_UPLOAD_BYTES; `larger` says what to do with larger ones."""

    def __init__(self, contents: str, larger: str, *, accept: str | None = None) -> None:
        widget = forms.ClearableFileInput(attrs={} if accept is None else {"accept": accept})
        self.larger = larger
        super().__init__(widget=widget, help_text=f"{contents}, of up to {MAX_UPLOAD_BYTES >> 20} MiB. {larger}")

    def validate(self, value: UploadedFile) -> None:
        super().validate(value)
        if (value.size or 0) > MAX_UPLOAD_BYTES:
            raise forms.ValidationError(f"Is larger than {MAX_UPLOAD_BYTES >> 20} MiB. {self.larger}")


class Upload(Generic[MetadataT]):
    """An uploaded file. `save` stores its metadata."""

    def __init__(self, token: str, owner: int, metadata: MetadataT) -> None:
        self.token = token
        self.owner = owner
        self.metadata = metadata

    @classmethod
    def store(cls, request: HttpRequest, chunks: Iterable[bytes], metadata: MetadataT) -> "Upload[MetadataT]":
        purge()
        upload = cls(secrets.token_urlsafe(32), signed_in(request).pk, metadata)
        with upload.open_for_writing("data") as file:
            for chunk in chunks:
                file.write(chunk)
        upload.save()
        return upload

    @classmethod
    def find(cls, request: HttpRequest, token: str) -> "Upload[MetadataT] | None":
        """Return the operator's file with this token; None if it is someone else's or too old."""
        if not match_token(token):
            return None
        path = directory() / f"{token}.json"
        try:
            metadata = json.loads(path.read_bytes())
            if time.time() - path.stat().st_mtime > DAY:
                return None
        except FileNotFoundError:
            return None
        owner = metadata.pop("owner")
        if owner != request.user.pk:
            return None
        upload = cls(token, owner, metadata)
        if metadata.get("state") == "running":
            upload.fail_if_abandoned()
        return upload

    def path(self, part: str) -> Path:
        return directory() / f"{self.token}.{part}"

    def open_for_writing(self, part: str, *, append: bool = False) -> BinaryIO:
        mode = os.O_APPEND if append else os.O_TRUNC
        descriptor = os.open(self.path(part), os.O_WRONLY | os.O_CREAT | mode, 0o600)
        return os.fdopen(descriptor, "wb")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file against other requests, with `metadata` reloaded."""
        with self.open_for_writing("lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.reload()
            yield

    def reload(self) -> None:
        metadata = json.loads(self.path("json").read_bytes())
        del metadata["owner"]
        self.metadata = metadata

    def save(self) -> None:
        with self.open_for_writing("draft") as file:
            file.write(json.dumps({**self.metadata, "owner": self.owner}).encode())
        self.path("draft").replace(self.path("json"))

    def take_file(self) -> Path | None:
        """Return the file to the first caller; a concurrent second one gets None."""
        try:
            return self.path("data").rename(self.path("taken"))
        except FileNotFoundError:
            return None

    @contextmanager
    def running(self) -> Iterator[Path | None]:
        """Give the file to the first caller, in the state `running`; None to a second one.

        An exception makes the state `failed`. The lease ends with the process, however that ends.
        """
        file = self.take_file()
        if file is None:
            yield None
            return
        try:
            with self.open_for_writing("lease") as lease:
                fcntl.flock(lease, fcntl.LOCK_EX)
                self.set_state("running")
                try:
                    yield file
                except BaseException as error:
                    self.set_state("failed", error.message if isinstance(error, ApiError) else INTERRUPTED)
                    raise
        finally:
            self.drop_file()

    def fail_if_abandoned(self) -> None:
        """Make the state `failed` if the process that ran the import has died."""
        with self.open_for_writing("lease") as lease:
            try:
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            self.reload()  # it may have ended meanwhile
            if self.metadata.get("state") == "running":
                self.set_state("failed", INTERRUPTED)
                self.drop_file()

    def set_state(self, state: str, failure: str | None = None) -> None:
        self.metadata = cast("MetadataT", {**self.metadata, "state": state, "failure": failure})
        self.save()

    def drop_file(self) -> None:
        for part in ("data", "taken", "lease"):
            self.path(part).unlink(missing_ok=True)


def purge() -> int:
    """Delete files older than a day and return their number. Runs daily and on each upload."""
    removed = 0
    for path in directory().iterdir():
        try:
            if time.time() - path.stat().st_mtime > DAY:
                path.unlink()
                removed += 1
        except FileNotFoundError:  # another process deletes files too
            continue
    return removed

"""Files that operators upload, kept between one page and the next: under DATA_DIR, for a day at most.

A file has a name that nobody can guess, and only the operator who uploaded it finds it, after another login too. What
is known of it lies beside it as JSON. Every process of a machine sees the same files; machines do not share them.
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

from django.conf import settings
from django.http import HttpRequest

from operators.base.requests import signed_in

AboutT = TypeVar("AboutT", bound=Mapping[str, object])  # a TypedDict of JSON values
DAY = 24 * 3600
IS_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}").fullmatch


def directory() -> Path:
    path = Path(settings.DATA_DIR) / "uploads"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def temporary_file() -> BinaryIO:
    """A file without a name, for a body on its way in."""
    return cast(BinaryIO, TemporaryFile(dir=directory()))


class Upload(Generic[AboutT]):
    """One file. `about` is what is known of it; `save` keeps that."""

    def __init__(self, token: str, owner: int, about: AboutT) -> None:
        self.token, self.owner, self.about = token, owner, about

    @classmethod
    def keep(cls, request: HttpRequest, chunks: Iterable[bytes], about: AboutT) -> "Upload[AboutT]":
        upload = cls(secrets.token_urlsafe(32), signed_in(request).pk, about)
        with upload.written("data") as file:
            for chunk in chunks:
                file.write(chunk)
        upload.save()
        return upload

    @classmethod
    def find(cls, request: HttpRequest, token: str) -> "Upload[AboutT] | None":
        """The file that this operator kept under the token; None for another's, and for one too old."""
        if not IS_TOKEN(token):
            return None
        path = directory() / f"{token}.json"
        try:
            about = json.loads(path.read_bytes())
            if time.time() - path.stat().st_mtime > DAY:
                return None
        except FileNotFoundError:
            return None
        owner = about.pop("owner")
        return cls(token, owner, about) if owner == request.user.pk else None

    def path(self, part: str) -> Path:
        return directory() / f"{self.token}.{part}"

    def written(self, part: str, *, append: bool = False) -> BinaryIO:
        mode = os.O_APPEND if append else os.O_TRUNC
        descriptor = os.open(self.path(part), os.O_WRONLY | os.O_CREAT | mode, 0o600)
        return os.fdopen(descriptor, "wb")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other requests off the file meanwhile; `about` is as the last of them left it."""
        with self.written("lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            about = json.loads(self.path("json").read_bytes())
            del about["owner"]
            self.about = about
            yield

    def save(self) -> None:
        with self.written("draft") as file:
            file.write(json.dumps({**self.about, "owner": self.owner}).encode())
        self.path("draft").replace(self.path("json"))

    def take(self) -> Path | None:
        """The file, for whoever takes it first: of two that press the button at once one gets None."""
        try:
            return self.path("data").rename(self.path("taken"))
        except FileNotFoundError:
            return None

    def drop_file(self) -> None:
        for part in ("data", "taken"):
            self.path(part).unlink(missing_ok=True)


def purge() -> int:
    """Removes files older than a day, and tells how many. Called daily, and on each upload."""
    removed = 0
    for path in directory().iterdir():
        try:
            if time.time() - path.stat().st_mtime > DAY:
                path.unlink()
                removed += 1
        except FileNotFoundError:  # another process is at it too
            continue
    return removed

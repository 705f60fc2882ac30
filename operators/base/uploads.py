"""Files that operators bring, kept between one page and the next: under DATA_DIR, for a day at most.

A file has a name that nobody can guess, and is found only by who brought it, in the session that brought it. What is
known of it lies beside it as JSON. Every process of a machine sees the same files; machines do not share them.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest

DAY = 24 * 3600
IS_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}").fullmatch


def directory() -> Path:
    path = Path(settings.DATA_DIR) / "uploads"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def temporary_file() -> BinaryIO:
    """A file without a name, for a body on its way in."""
    return cast(BinaryIO, TemporaryFile(dir=directory()))


def owner_of(request: HttpRequest) -> str:
    """The member of staff and their session, in a form that is of no use to who reads the file."""
    told = f"{request.user.pk} {request.session.session_key}"
    return sha256(told.encode()).hexdigest()


class Upload:
    """One file. `about` is what is known of it; `save` keeps that."""

    def __init__(self, token: str, about: dict[str, Any]) -> None:
        self.token = token
        self.about = about

    @classmethod
    def keep(cls, request: HttpRequest, chunks: Iterable[bytes], about: dict[str, Any]) -> "Upload":
        upload = cls(secrets.token_urlsafe(32), {**about, "owner": owner_of(request)})
        with upload.written("data") as file:
            for chunk in chunks:
                file.write(chunk)
        upload.save()
        return upload

    @classmethod
    def find(cls, request: HttpRequest, token: str) -> "Upload | None":
        """What was kept under the token by who asks; None for another's, and for what is too old."""
        if not IS_TOKEN(token):
            return None
        path = directory() / f"{token}.json"
        try:
            about = json.loads(path.read_bytes())
            if time.time() - path.stat().st_mtime > DAY:
                return None
        except FileNotFoundError:
            return None
        return cls(token, about) if secrets.compare_digest(about["owner"], owner_of(request)) else None

    def path(self, part: str) -> Path:
        return directory() / f"{self.token}.{part}"

    def written(self, part: str) -> Any:
        descriptor = os.open(self.path(part), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        return os.fdopen(descriptor, "wb")

    def save(self) -> None:
        with self.written("draft") as file:
            file.write(json.dumps(self.about).encode())
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
    """Removes what is older than a day; how many files. Called daily, and by who brings another."""
    removed = 0
    for path in directory().iterdir():
        try:
            if time.time() - path.stat().st_mtime > DAY:
                path.unlink()
                removed += 1
        except FileNotFoundError:  # another process is at it too
            continue
    return removed

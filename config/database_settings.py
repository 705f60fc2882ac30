"""Settings of the database and of the archive of decisions (docs/reference/settings.md, Data and secrets)."""

import os
import re
import sys
from pathlib import Path

import dj_database_url
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, timeout_from_conninfo

from kit.environ import env, env_choice, env_parsed, env_url
from kit.private_files import private_database, private_directory

# Whether a pooler such as PgBouncer shares out PostgreSQL's sessions by transaction (docs/guides/deployment.md).
POOLING = env_choice("DATABASE_POOLING", "session", "transaction")
# A connection ends after 20 seconds without a sign of the server: a network may drop packets silently, and TCP alone
# gives up after 15 minutes. A server that works on a long statement still acknowledges keepalives.
CONNECTION_LIMITS = {
    "connect_timeout": 5,
    "tcp_user_timeout": 20_000,  # milliseconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
match_bucket_uri = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w!.*'()=-]+)*/?", re.ASCII).fullmatch


def database(data_dir: Path, threads: int) -> dj_database_url.DBConfig:
    """Return Django's settings of the database in DATABASE_URL, for this number of request threads."""
    url = env_url("DATABASE_URL", "sqlite", "postgres", "postgresql")
    if not url or url.startswith("sqlite"):
        private_directory(data_dir)
        name = dj_database_url.parse(url)["NAME"] if url else data_dir / "db.sqlite3"
        if name != ":memory:":
            private_database(Path(name))
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(name),
            "OPTIONS": {
                # Take the write lock at the start of a transaction: upgrading later could only fail.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # FULL: a commit is on disk before its reply is sent.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384;",
            },
            # Threads keep their connections: opening one costs as much as a small request, and closing the last one
            # writes back the whole log. Limited, because each has its own cache of 16 MiB.
            "CONN_MAX_AGE": 60,
            # A file even under test: threads and processes cannot share SQLite's in-memory database.
            "TEST": {"NAME": data_dir / "test.sqlite3"},
        }
    # One per thread of config.asgi, and eleven for background jobs, probe, lookups and webhooks. The timeouts make a
    # lost server show within seconds.
    pool = {"min_size": 1, "max_size": threads + 11, "timeout": 5, "max_idle": 300, "reconnect_timeout": 1}
    return postgresql("DATABASE_URL", url, pool=pool)


def databases(data_dir: Path, threads: int) -> dict[str, dj_database_url.DBConfig]:
    """Return Django's DATABASES: the database and, if REPORTS_DATABASE_URL is set, its replica for reports."""
    settings_by_alias = {"default": database(data_dir, threads)}
    if url := env_url("REPORTS_DATABASE_URL", "postgres", "postgresql"):
        # Each report opens a connection of its own. A pool would keep trying to reach a replica that is gone, and log
        # an outage of the database. As from a pool, a new connection must not begin a transaction by itself.
        replica = postgresql("REPORTS_DATABASE_URL", url, connect_timeout=2, autocommit=True)
        # The state of the replica is measured on one connection, and then holds for others.
        balanced = replica["OPTIONS"].get("load_balance_hosts") or os.environ.get("PGLOADBALANCEHOSTS")
        if balanced and balanced != "disable":
            sys.exit(
                "REPORTS_DATABASE_URL must lead to one replica. Remove load_balance_hosts from it, or write "
                "load_balance_hosts=disable if the environment variable PGLOADBALANCEHOSTS is set."
            )
        settings_by_alias["replica"] = {**replica, "TEST": {"MIRROR": "default"}}
    return settings_by_alias


def postgresql(name: str, url: str, **defaults: object) -> dj_database_url.DBConfig:
    """Return Django's settings for the PostgreSQL URL in the environment variable `name`."""
    options: dict[str, object] = {**CONNECTION_LIMITS, **defaults, **postgresql_options(name, url)}
    return {
        "ENGINE": "kit.storage.postgresql",
        "NAME": str(options.pop("dbname", "")),
        "USER": str(options.pop("user", "")),
        "PASSWORD": str(options.pop("password", "")),
        "HOST": str(options.pop("host", "")),
        "PORT": str(options.pop("port", "")),
        "OPTIONS": options,
        # Each connection is checked before a request uses it, and replaced if a restarted server has closed it.
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": POOLING == "transaction",  # their rows need a session
    }


def postgresql_options(name: str, url: str) -> dict[str, object]:
    """Return libpq's parameters in the URL, which may name several hosts and any option of libpq."""
    try:
        options = conninfo_to_dict(url)
    except ProgrammingError:  # its text may have the password
        sys.exit(
            f"The environment variable {name} is not a valid PostgreSQL URL. It has the form "
            "postgresql://user:password@host:5432/name?option=value, where several hosts are separated by commas. "
            "In user and password, percent-encode characters such as @ : / % ?."
        )
    if not (options.get("dbname") or options.get("service")):
        sys.exit(
            f"The environment variable {name} names no database. It has the form "
            "postgresql://user:password@host:5432/name?option=value."
        )
    try:
        timeout_from_conninfo(options)
    except ProgrammingError as error:
        sys.exit(f"The environment variable {name}: {error}. It is a number of seconds.")
    return dict(options)


def archive_dir(default: Path) -> str:
    """Return the absolute path of a folder, or s3://bucket/prefix, without a slash at its end."""
    return env_parsed("ARCHIVE_DIR", lambda text: parse_archive_dir(text, default))


def parse_archive_dir(text: str, default: Path) -> str:
    if re.match(r"s3:|\w+://", text):
        if not match_bucket_uri(text) or {".", ".."} & set(text.split("/")):
            raise ValueError(
                "must be a folder or s3://bucket/prefix, with letters, digits and !_.*'()=- in the prefix, not "
                f"{text!r}"
            )
        return text.rstrip("/")
    if set("?#%") & set(text):  # URIs name the files in the table
        raise ValueError(f"must be a folder without ?, # and % in its path, not {text!r}")
    return str(Path(text or default).resolve())


def archive_secrets() -> list[str]:
    """Return what no log may contain. Stop if S3 is used with only one of the two keys.

    Without both, pyarrow asks the other sources of AWS.
    """
    key = env("AWS_ACCESS_KEY_ID")
    secret = env("AWS_SECRET_ACCESS_KEY")
    token = env("AWS_SESSION_TOKEN")
    if env("ARCHIVE_DIR").startswith("s3:") and bool(key) != bool(secret):
        missing = "AWS_SECRET_ACCESS_KEY" if key else "AWS_ACCESS_KEY_ID"
        sys.exit(f"Set the environment variable {missing}, too: AWS_ACCESS_KEY_ID needs AWS_SECRET_ACCESS_KEY.")
    return [secret, token]


def archive_endpoint() -> str:
    """Return the URL of a server that speaks S3, or nothing for Amazon's. pyarrow does not read these variables."""
    return env_url("AWS_ENDPOINT_URL_S3", "http", "https") or env_url("AWS_ENDPOINT_URL", "http", "https")

"""Usage of all accounts, computed from the archive by an engine that speaks Spark Connect."""

import socket
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from accounts.models import Account
from analytics.archive.layout import table_uri
from analytics.archive.store import ArchiveError

PORT = 15002  # of Spark Connect
COLUMNS = ("account", "name", "month", "requests", "allowed", "denied", "requesters")
DECISIONS_BY_MONTH_SQL = """
SELECT account, date_format(month, 'yyyy-MM') AS month, count(*) AS requests, count_if(allowed) AS allowed,
  count_if(NOT allowed) AS denied, count(DISTINCT requester) AS requesters
FROM {decisions} WHERE month >= make_date(:year, 1, 1) AND month < make_date(:year + 1, 1, 1)
GROUP BY account, month ORDER BY account, month
"""


def report_usage(engine: str, year: int) -> list[dict[str, object]]:
    """Return the months of all accounts that are archived, by account and month, as `GET /v1/analytics/usage` counts.

    `engine` is a Spark Connect address such as sc://host:15002; its workers read ARCHIVE_DIR under the same path, or
    from S3. Raises ArchiveError.
    """
    check_reachable(engine)
    names = dict(Account.objects.values_list("pk", "name"))
    try:
        session = SparkSession.builder.remote(engine).getOrCreate()
        try:
            decisions = session.read.format("iceberg").load(table_uri())
            rows = session.sql(DECISIONS_BY_MONTH_SQL, {"year": year}, decisions=decisions).collect()
        finally:
            session.stop()  # an open one keeps the process from ending while the engine does not answer
    except PySparkException as error:
        raise ArchiveError(f"{engine} did not compute the report: {error}") from None
    return [{"account": row.account, "name": names.get(row.account, ""), **row.asDict()} for row in rows]


def check_reachable(engine: str) -> None:
    """Raises ArchiveError at once where Spark's client would try for ten minutes."""
    address = urlsplit(engine)
    if address.scheme != "sc" or not address.hostname:
        raise ArchiveError(f"{engine} is no address of Spark Connect such as sc://host:15002.")
    try:
        socket.create_connection((address.hostname, address.port or PORT), timeout=5).close()
    except OSError as error:
        raise ArchiveError(f"{engine} cannot be reached: {error}.") from None

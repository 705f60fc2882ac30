"""A person with traces in every table, to be erased."""

from urllib.parse import quote

from django.db import connection

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import PURPOSE
from accounts.sealing import reply_sealer

ID = "reader:ada/lovelace@example.org"
PATH = f"/v1/requesters/{quote(ID, safe='')}"
PERSON = {
    "id": ID,
    "name": "Ada King Lovelace",
    "email": "ada.king@analytical.example",
    "notes": "Met her at the engine.",
    "metadata": {"street": "Ockham Park 12", "seats": 3},
}
CONTEXT = {"ip": "203.0.113.77", "userAgent": "AdaBrowser/1843"}
TRACES = (
    ID, "Ada King", "Ada Byron", "ada.king@", "Met her", "Ockham", "203.0.113.77", "AdaBrowser", "for Ada", "Adas",
)  # fmt: skip


def everything_stored():
    """Return all values of all tables, and the replies stored for retries."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            for row in cursor.fetchall():
                for value in row:
                    raw = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
                    yield table, raw
    for record in IdempotencyRecord.objects.exclude(reply=b""):
        yield "replies", reply_sealer(PURPOSE).decrypt(bytes(record.reply))
        if record.headers:
            yield "replies", reply_sealer(PURPOSE).decrypt(bytes(record.headers))


def tables_with_traces(texts=TRACES):
    spellings = [text.encode() for text in (*texts, quote(ID, safe=""), ID.replace("/", "\\/"))]
    return {table for table, raw in everything_stored() if any(one in raw for one in spellings)}

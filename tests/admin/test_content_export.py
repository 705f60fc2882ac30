import csv
import datetime
import io
import re

from django.urls import reverse

from kit.http.rendering import render_json
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.imports.mapping import columns_by_name
from licensing.imports.preview import Plan, read_columns, run_plan
from operators.base import exporting
from operators.base.links import list_url
from operators.staff.services import create_operator
from tests import factories

EXPORT = reverse("admin:licensing_content_export_items")


def rows(client, address=EXPORT):
    reply = client.get(address)
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode("utf-8-sig"))))


def test_the_link_of_a_filtered_list_exports_just_that(admin, account):
    factories.content(account, title="In", category="news")
    factories.content(account, title="Out")
    page = admin.get(list_url(Content, category="news")).content.decode()
    [link] = re.findall(r'href="([^"]*/export/\?[^"]*)"', page)
    assert [row["title"] for row in rows(admin, link)] == ["In"]


def test_chunks_come_newest_first_and_cells_run_no_formulas(admin, account, monkeypatch):
    monkeypatch.setattr(exporting, "CHUNK", 2)
    made = [factories.content(account).pk for _ in range(5)]
    assert [row["id"] for row in rows(admin)] == made[::-1]
    for nonsense in ("?created=x", "?nonsense=1"):
        factories.content(account)
        assert admin.get(EXPORT + nonsense).status_code == 302

    factories.content(account, title="=1+1", metadata={"author": "@SUM(A1)"})
    row, *_ = rows(admin)
    assert (row["title"], row["metadata.author"]) == ("'=1+1", "'@SUM(A1)")


def test_an_export_can_be_imported_without_changes(admin, account, tmp_path):
    metadata = {"author": "Ann", "publishedAt": datetime.date(2026, 1, 2), "wordCount": 7, "tags": ["m"], "edition": 2}
    item = factories.content(account, external_id="a", tags=["x", "y,z"], metadata=metadata, source="https://e.com/a")
    path = tmp_path / "content.csv"
    path.write_bytes(b"".join(admin.get(EXPORT).streaming_content))
    columns, _ = read_columns(path, "csv")
    plan = Plan(account.pk, "csv", columns_by_name(columns))
    with (tmp_path / "bad").open("wb") as bad:
        outcome = run_plan(path, plan, bad, dry_run=False)
    assert (outcome.problem, outcome.tally["unchanged"], outcome.bad) == (None, 1, [])
    stored = Content.objects.get(pk=item.pk)
    assert render_json(ContentSerializer(stored).data) == render_json(ContentSerializer(item).data)


def test_only_visible_items_are_exported(account, other_account, sign_in):
    factories.content(account, title="Own")
    factories.content(other_account, title="Foreign")
    client = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert [row["title"] for row in rows(client)] == ["Own"]

import csv
import gzip
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from kit.http.errors import InvalidRequest
from licensing.content.models import Content
from licensing.imports import preview
from operators.catalogue import content_import
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import form_values, html_of
from tests.admin.importing import CSV, START, files, tally

pytestmark = pytest.mark.usefixtures("own_directory")


def test_a_file_is_shown_then_imported_once_and_its_bad_rows_come_back_without_formulas(admin, bring):
    address = bring()
    assert tally(admin, address) == {"created": 2, "updated": 0, "unchanged": 0, "superseded": 0, "failed": 3}
    page = html_of(admin, address)
    assert "line 3: title: This field is required." in page
    assert "line 4: type: " in page
    assert "Columns left aside: colour." in page
    assert "[&quot;x&quot;, &quot;y&quot;]" in page
    assert not Content.objects.exists()
    assert not AuditEntry.objects.filter(action="content.created").exists()
    assert admin.post(address, {"import": "1"}).status_code == 302
    assert {item.external_id for item in Content.objects.all()} == {"a-1", "a-5"}
    assert AuditEntry.objects.filter(action="content.created", actor_type="operator").count() == 2
    page = html_of(admin, address)
    assert "Done, into the account" in page
    assert "line 5: type: " in page
    reply = admin.get(f"{address}bad-rows.csv")
    assert reply.headers["Content-Disposition"] == 'attachment; filename="items-bad-rows.csv"'
    rows = list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))
    assert [(row["line"], row["externalId"]) for row in rows] == [("3", "a-2"), ("4", "a-3"), ("5", "a-4")]
    assert rows[0]["problem"] == "title: This field is required."
    assert rows[2]["title"] == '\'=HYPERLINK("http://evil")'
    assert rows[1]["colour"] == "green"
    Content.objects.filter(external_id="a-1").update(title="Changed since")
    admin.post(address, {"import": "1"})
    assert Content.objects.get(external_id="a-1").title == "Changed since"


def test_the_preview_warns_of_items_that_close_pages_of_an_enforcing_site(admin, account, bring):
    factories.site(account, {}, host="pub.example", mode="enforce")
    page = html_of(admin, bring("externalId,title,source\n1,A,https://pub.example/a\n"))
    assert "1 item, such as https://pub.example/a, without a policy at sites that enforce" in page


def test_existing_items_count_as_updated_or_unchanged(admin, account, bring):
    factories.content(account, external_id="a-1", title="First", type="report", tags=["x", "y"])
    factories.content(account, external_id="a-5", title="Old")
    assert tally(admin, bring()) == {"created": 0, "updated": 1, "unchanged": 1, "superseded": 0, "failed": 3}


@pytest.mark.parametrize("reason", ["The file cannot be read.", None])
def test_an_import_that_fails_says_so(admin, bring, monkeypatch, reason):
    address = bring()

    def fail(*_, **__):
        raise InvalidRequest(reason) if reason else RuntimeError

    monkeypatch.setattr(content_import, "run_plan", fail)
    if reason:
        assert admin.post(address, {"import": "1"}).status_code == 302
    else:
        with pytest.raises(RuntimeError):
            admin.post(address, {"import": "1"})
    page = html_of(admin, address)
    assert "The import has failed." in page
    assert (reason or "It was interrupted before its end.") in page
    assert not [name for name in files() if name.endswith((".data", ".taken"))]


def test_json_arrays_sitemaps_and_dates_are_read_as_by_the_command(admin, bring):
    sitemap = b"<urlset><url><loc>https://pub.example/a-b</loc></url></urlset>"
    assert tally(admin, bring(b'[{"externalId": 7, "title": "Seven"}]', "items.json"))["created"] == 1
    assert tally(admin, bring(sitemap, "sitemap.xml"))["created"] == 1
    address = bring("externalId,title,metadata.publishedAt\n" + "".join(f"{n},T,04/05/2026\n" for n in range(9)))
    page = html_of(admin, address)
    assert "6 more lines: metadata.publishedAt:" in page
    admin.post(address, {**form_values(page), "dates": "month-first", "preview": "1"})
    assert tally(admin, address)["created"] == 9
    admin.post(address, {"import": "1"})
    assert f"{Content.objects.first().published_at}" == "2026-04-05"


def test_other_encodings_are_reported_and_json_lines_read_gzipped(admin, bring):
    assert "was read as Windows-1252" in html_of(admin, bring("externalId;title\n1;Café\n".encode("cp1252")))
    address = bring(gzip.compress(b'{"externalId": "j", "title": "J", "metadata": {"author": "A"}}\n'), "x.jsonl.gz")
    admin.post(address, {"import": "1"})
    assert Content.objects.get().author == "A"


def test_columns_are_guessed_and_rows_shown_whole(admin, bring):
    page = html_of(admin, bring("Objekt,Bezeichnung\nx-1,Sonnenuntergang\n"))
    assert "No column gives the external id" in page
    assert "<td>Sonnenuntergang</td>" in page
    address = bring("externalId,title\n1,One,more\n2\n3,Three\n")
    bad = b"".join(admin.get(f"{address}bad-rows.csv").streaming_content).decode()
    assert [row[2:] for row in csv.reader(io.StringIO(bad))] == [["externalId", "title"], ["1", "One", "more"], ["2"]]

    address = bring("ID,Headline,URL,By-line,Pub date\n7,Seven,https://p.example/7,Ann,2026-01-31\n")
    admin.post(address, {"import": "1"})
    item = Content.objects.get()
    assert (item.external_id, item.title, item.author) == ("7", "Seven", "Ann")
    assert item.source == "https://p.example/7"


@pytest.mark.parametrize(
    "header",
    [
        "Externe ID,Überschrift,Schlagwörter,Erscheinungsdatum,Wörter",
        "Externe-Id,Titel,Schlagwoerter,Veröffentlicht am,Anzahl Wörter",
        "Identifiant externe,Titre,Mots-clés,Date de publication,Nombre de mots",
        "ID externo,Título,Palabras clave,Fecha de publicación,Palabras",
    ],
)
def test_columns_are_guessed_in_german_french_and_spanish(admin, bring, header):
    address = bring(f"{header}\n7,Seven,news;sport,2026-01-31,850\n")
    admin.post(address, {"import": "1"})
    item = Content.objects.get()
    assert (item.external_id, item.title, item.tags, item.word_count) == ("7", "Seven", ["news", "sport"], 850)
    assert f"{item.published_at}" == "2026-01-31"


def test_columns_of_other_names_are_chosen_and_kept_for_the_corrected_file(admin, account, bring):
    policy = factories.policy(account)
    address = bring("Kunst,Bild,Medium\n1,Sunset,oil\n", "paintings.csv")
    page = admin.get(address)
    assert "No column gives the external id" in page.content.decode()
    values = form_values(page.content.decode())
    chosen = {"externalId": "Kunst", "title": "Bild", "others": "on", "default_type": "image"}
    admin.post(address, {**values, **chosen, "default_policy": policy.pk, "preview": "1"})
    assert tally(admin, address)["created"] == 1
    admin.post(address, {"import": "1"})
    item = Content.objects.get()
    assert (item.external_id, item.title, item.type, item.policy_id) == ("1", "Sunset", "image", policy.pk)
    assert item.metadata_extra == {"Medium": "oil"}

    address = bring("Objekt,Bezeichnung\nx-1,\n")
    values = form_values(html_of(admin, address))
    admin.post(address, {**values, "externalId": "Objekt", "title": "Bezeichnung", "preview": "1"})
    assert tally(admin, bring("line,problem,Objekt,Bezeichnung\n2,none,x-1,Sonne\n"))["created"] == 1


def test_other_columns_stay_aside_until_they_are_wanted(admin, bring):
    address = bring("externalId,title,metadata.edition,colour\n1,One,2nd,red\n")
    values = form_values(html_of(admin, address))
    admin.post(address, {**values, "preview": "1"})
    admin.post(address, {"import": "1"})
    assert Content.objects.get().metadata_extra == {"edition": "2nd"}


def test_unreadable_files_and_unknown_addresses_are_refused(admin, account):
    for text, name, message in (
        ("a,b", "items.xlsx", "must end in .csv"),
        ("\n", "items.csv", "empty"),
        (b"\xff\xfe,x\n1,2\n", "items.csv", "not UTF-8"),
        (b"\x1f\x8bbroken", "items.csv", "cannot be read"),
    ):
        file = SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode())
        reply = admin.post(START, {"account": account.pk, "file": file})
        assert reply.status_code == 200
        assert message in str(reply.context["form"].errors["file"])
        assert not any(one.endswith(".data") for one in files())
    for token in ("..%2Fsecret_key", "x", "a" * 43):
        assert admin.get(f"/admin/licensing/content/import/{token}/").status_code in (302, 404)


def test_files_that_are_too_large_are_refused_with_the_way_to_import_them(admin, account, monkeypatch, bring):
    monkeypatch.setattr(preview, "MAX_READ_BYTES", 1 << 20)
    bomb = gzip.compress(b"externalId,title\n" + b"a,%s\n" % (b"x" * 400) * 5000)
    reply = admin.post(START, {"account": account.pk, "file": SimpleUploadedFile("bomb.csv.gz", bomb)})
    assert "The file has more than 1 MiB inside." in reply.content.decode()
    monkeypatch.setattr(preview, "MAX_LINES", 100)
    assert "more than 100 lines" in html_of(admin, bring('externalId,title\na,"' + "\n" * 200 + 'x"\n'))
    monkeypatch.setattr(preview.BoundedRows, "most_rows", 3)
    page = html_of(admin, bring())
    assert "more than 3 rows" in page
    assert "import_content" in page
    assert 'name="import"' not in page


def test_blank_lines_are_passed_over_many_at_a_time(admin, bring, monkeypatch):
    """Each blank line would count as a line if read separately."""
    monkeypatch.setattr(preview, "MAX_LINES", 100)
    blank = b"\n" * 2_000_000 + b" \t\r\n" * 1_000
    address = bring(gzip.compress(b"externalId,title\n" + blank + b"a,A\n" + blank + b"b,B\n" + blank), "blank.csv.gz")
    assert tally(admin, address)["created"] == 2
    rows = [b'{"externalId": "%b", "title": "T"}\n' % name for name in (b"c", b"d")]
    address = bring(gzip.compress(blank.join([b"", *rows, b""])), "blank.jsonl.gz")
    assert tally(admin, address)["created"] == 2


def test_a_viewer_imports_nothing_and_an_editor_for_their_accounts_alone(account, other_account, sign_in):
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert viewer.get(START).status_code == 403
    editor = sign_in(create_operator("ed", role="Editor", accounts=[account])[0])
    reply = editor.post(START, {"account": other_account.pk, "file": SimpleUploadedFile("a.csv", CSV.encode())})
    assert "account" in reply.context["form"].errors

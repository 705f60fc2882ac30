import gzip
import json
import re
import subprocess
import sys
from datetime import timedelta
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.models import StaffScope
from analytics.models import AccessEvent, LedgerEntry
from kit.http.errors import InvalidRequest
from operators.catalogue import log_import, uploads
from operators.staff.services import create_operator
from tests.admin.importing import files, own_directory  # noqa: F401 - a fixture
from tests.admin.markup import markup_in
from tests.commands.access_logs import (
    combined,
    no_names,  # noqa: F401 - a fixture
    publisher,
)
from tests.edge.conftest import crawler_table  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("own_directory", "no_names", "within_this_process")
GPTBOT = "GPTBot/1.0"
YESTERDAY = timezone.now() - timedelta(days=1)


@pytest.fixture
def within_this_process(monkeypatch):
    """Run the command in the test's process: no other one sees the test's database."""

    def run(arguments):
        out, err, code = StringIO(), StringIO(), 0
        try:
            call_command(*arguments, stdout=out, stderr=err)
        except CommandError as error:
            err.write(f"CommandError: {error}")
            code = 1
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    monkeypatch.setattr(log_import, "run_command", run)


def log(*paths, agent=GPTBOT):
    lines = [combined(YESTERDAY + timedelta(seconds=number), path, agent) for number, path in enumerate(paths)]
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.fixture
def site(account, crawler_table):  # noqa: F811
    crawler_table({"name": "GPTBot", "class": "ai_training", "operator": "A", "userAgent": "GPTBot",
                   "addresses": ["203.0.113.0/24"]})  # fmt: skip
    return publisher(account)


@pytest.fixture
def bring(admin, site):
    """Upload a log and return the reply."""

    def make(text, client=admin, **fields):
        address = reverse("admin:licensing_site_import_log", args=[site.pk])
        return client.post(address, {"file": SimpleUploadedFile("access.log", text), **fields})

    return make


def facts(client, address):
    reply = client.get(address)
    assert reply.status_code == 200
    return dict(reply.context["about"]["facts"])


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_a_log_is_imported_after_a_rehearsal(admin, site, bring, packed):
    text = log("/sold/a", "/sold/b", "/robots.txt", "/premium/a") + b"odd\n"
    address = bring(packed(text)).headers["Location"]
    shown = facts(admin, address)
    assert (shown["Lines"], shown["To be imported"], shown["Malformed"]) == ("5", "3", "1")
    assert shown["Understood"] == "80 % of the lines"
    assert (shown["Of pages that are open to everybody"], shown["Would have been refused"]) == ("1", "3")
    assert (shown["Worth"], shown["By crawlers"]) == ("0.03 USD", "3 verified, 0 unverified")
    html = admin.get(address).content.decode()
    assert "An import cannot be undone." in html
    assert "Line 5:" in html
    assert markup_in(html) == []
    assert "Import 3 requests" in html
    assert not AccessEvent.objects.exists()

    assert [admin.post(address).status_code for _ in range(2)] == [302, 302]
    assert facts(admin, address)["Imported"] == "3"
    html = admin.get(address).content.decode()
    assert "The log is imported" in html
    assert re.search(r"<dt>Time</dt>\s*<dd[^>]*><time datetime=[^>]*>[^<]*</time> to <time", html)
    assert markup_in(html) == []
    assert {event.facts["siteId"] for event in AccessEvent.objects.all()} == {site.pk}
    assert (AccessEvent.objects.count(), LedgerEntry.objects.count()) == (3, 0)
    assert files() == [name for name in files() if not name.endswith((".data", ".taken"))]

    again = bring(packed(text)).headers["Location"]
    assert facts(admin, again)["Imported before"] == "3"
    assert "Import 0" not in admin.get(again).content.decode()


def test_logs_that_are_invalid_or_too_large_are_refused_at_the_field(bring, monkeypatch):
    for text, problem in (
        (b"nothing\nknown\n", "Name one with the field format, or"),
        (gzip.compress(log("/sold/a") * 50)[:-9], "The file is damaged"),
        (b"", "The submitted file is empty."),
    ):
        reply = bring(text)
        assert (reply.status_code, problem in reply.content.decode()) == (200, True)
        assert not [name for name in files() if name.endswith(".data")]
    reply = bring(log("/sold/a").replace(b" 200 ", b" 404 "))
    assert "Nothing can be imported from 1 lines: 1 answered with 4xx." in reply.content.decode()
    assert not [name for name in files() if name.endswith(".data")]
    monkeypatch.setattr(log_import, "MAX_READ_BYTES", 1_000)
    assert "import_access_log" in bring(gzip.compress(log(*["/sold/a"] * 50))).content.decode()
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 100)
    assert "Is larger than" in bring(log("/sold/a", "/sold/b")).content.decode()


def test_a_log_of_another_form_is_imported_by_its_format_string(admin, bring):
    text = f"GPTBot/1.0|203.0.113.9|{YESTERDAY.isoformat()}|GET|/sold/a|200\n".encode()
    wrong = bring(text, format_string="$http_user_agent|$remote_addr")
    assert "The format has no time. Add %t or $time_local." in wrong.content.decode()
    form = "$http_user_agent|$remote_addr|$time_iso8601|$request_method|$request_uri|$status"
    address = bring(text, format_string=form).headers["Location"]
    assert admin.post(address).status_code == 302
    assert facts(admin, address)["Imported"] == "1"
    assert AccessEvent.objects.get().facts["userAgent"] == "GPTBot/1.0"


def test_only_the_uploader_with_the_account_imports_a_log(sign_in, site, bring, account):
    address = bring(log("/sold/a")).headers["Location"]
    other = sign_in(create_operator("ann", superuser=True)[0])
    assert other.post(address).headers["Location"] == reverse("admin:licensing_site_changelist")
    assert not AccessEvent.objects.exists()

    operator, _ = create_operator("bob", role="Editor", accounts=[account])
    client = sign_in(operator)
    address = bring(log("/sold/a"), client=client).headers["Location"]
    StaffScope.objects.get(user=operator).accounts.clear()
    assert client.post(address).status_code == 404
    assert not AccessEvent.objects.exists()
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert bring(log("/sold/a"), client=viewer).status_code == 403


def fail(error):
    def run(*_, **options):
        raise error

    return run


def test_an_import_that_fails_says_so(admin, bring, monkeypatch):
    address = bring(log("/sold/a")).headers["Location"]
    monkeypatch.setattr(log_import, "run_import_command", fail(InvalidRequest("The file is damaged.")))
    assert admin.post(address).status_code == 302
    html = admin.get(address).content.decode()
    assert "The import has failed" in html
    assert "The file is damaged." in html
    assert not [name for name in files() if name.endswith((".data", ".taken"))]


def test_an_import_that_breaks_off_says_so(admin, bring, monkeypatch):
    address = bring(log("/sold/a")).headers["Location"]
    crash = subprocess.CompletedProcess([], -9, "", "Traceback")
    monkeypatch.setattr(log_import, "run_command", lambda arguments: crash)
    with pytest.raises(RuntimeError, match="The import ended with -9: Traceback"):
        admin.post(address)
    assert "It was interrupted before its end." in admin.get(address).content.decode()


HOLDER = """
import fcntl, sys, time
lease = open(sys.argv[1], "wb")
fcntl.flock(lease, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_an_import_runs_until_its_process_dies(admin, bring):
    address = bring(log("/sold/a")).headers["Location"]
    token = address.rstrip("/").rpartition("/")[2]
    path = uploads.directory() / f"{token}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "running"}))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path.with_suffix(".lease"))], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        assert "The import is running" in admin.get(address).content.decode()
    finally:
        holder.kill()
        holder.communicate()
    html = admin.get(address).content.decode()
    assert "The import has failed" in html
    assert "It was interrupted before its end." in html
    assert json.loads(path.read_text())["state"] == "failed"

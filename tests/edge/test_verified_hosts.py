import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import dns.asyncresolver
import dns.message
import dns.rrset
import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from kit.outbound.client import Reply, Unreachable
from kit.outbound.destinations import DestinationRefused
from licensing.edge.site_lint import lint_site
from licensing.sites import verification
from licensing.sites.services import delete_site, update_site
from licensing.sites.verification import VerificationSource, dns_record, read_file, read_txt, txt_name
from tests import auditlog, factories

HOST = "pub.example"
UNREACHABLE = VerificationSource("", problem="the name servers do not answer.")


@pytest.fixture
def site(account):
    return factories.site(account, {"/own/*": factories.policy(account)}, host=HOST)


@pytest.fixture
def theirs(other_account):
    return factories.site(other_account, {"/theirs/*": factories.policy(other_account)}, host=HOST)


class Published:
    """A host's verification records: `file` is the reply at the file's address, `txt` its DNS records."""

    def __init__(self) -> None:
        self.file: Reply | Exception = Reply(404, {}, b"")
        self.txt = VerificationSource("")

    def file_of(self, *sites) -> None:
        self.file = Reply(200, {}, "\n".join(dns_record(site.pk) for site in sites).encode())

    def txt_of(self, *sites) -> None:
        self.txt = VerificationSource("", frozenset(dns_record(site.pk) for site in sites))


@pytest.fixture
def published(monkeypatch):
    found = Published()

    async def fetch(url):
        assert url == f"https://{HOST}/.well-known/content-access-licensing.txt"
        if isinstance(found.file, Exception):
            raise found.file
        return found.file

    async def txt(host):
        return found.txt

    monkeypatch.setattr(verification, "fetch", fetch)
    monkeypatch.setattr(verification, "read_txt", txt)
    return found


def documents(key=None):
    headers = {"Host": HOST} if key is None else {"Host": HOST, "X-Licensing-Key": key}
    return Client().get("/license.xml", headers=headers)


def verify(api, site):
    return api.post(f"/v1/sites/{site.pk}/verify")


def test_a_newcomer_does_not_disable_the_documents_of_a_verified_site(api, published, site, other_account):
    published.file_of(site)
    assert verify(api, site)["verifiedAt"] is not None
    before = documents()
    factories.site(other_account, {"/theirs/*": factories.policy(other_account)}, host=HOST)
    assert (before.status_code, documents().content) == (200, before.content)


def test_a_shared_host_has_the_documents_of_the_first_of_its_verified_sites(api, other_api, published, site, theirs):
    published.file_of(site, theirs)
    assert documents().status_code in (400, 404)
    assert (verify(other_api, theirs).status, verify(api, site).status) == (200, 200)
    assert b"/theirs/" in documents().content
    delete_site(theirs)
    assert b"/own/" in documents().content


def test_documents_of_a_key_are_those_of_its_account_and_an_unverified_site_is_reported(
    api, account, other_account, published, site, theirs
):
    published.file_of(site)
    verify(api, site)
    own, other = documents(factories.key_text(account)), documents(factories.key_text(other_account))
    assert (b"/own/" in own.content, b"/theirs/" in other.content) == (True, True)
    assert [reply.headers["Cache-Control"] for reply in (own, other)] == ["private, max-age=300"] * 2
    assert documents().headers["Cache-Control"] == "public, max-age=300"
    assert {one.strip() for one in own.headers["Vary"].split(",")} >= {"Host", "X-Licensing-Key"}
    site.refresh_from_db()
    assert "host_shared" not in [one.code for one in lint_site(site)]
    assert "host_shared" in [one.code for one in lint_site(theirs)]


def test_a_record_is_shown_and_a_missing_one_reported(api, site, published, other_api, theirs):
    told = api.get(f"/v1/sites/{site.pk}")
    assert (told["verifiedAt"], told["verification"]) == (
        None,
        {
            "record": f"content-access-licensing={site.pk}",
            "url": f"https://{HOST}/.well-known/content-access-licensing.txt",
            "dnsName": f"_content-access-licensing.{HOST}",
        },
    )
    for failure, said in [
        (Reply(404, {}, b""), "there is no record"),
        (Reply(200, {}, b"content-access-licensing=site_other"), "there are other records"),
        (Reply(301, {"location": "https://www.pub.example/"}, b""), "it is answered with 301"),
        (Unreachable("The name could not be resolved."), "The name could not be resolved."),
        (DestinationRefused("The host must resolve to public addresses only."), "public addresses only"),
    ]:
        published.file = failure
        refused = verify(api, site)
        assert refused.status_and_param == (422, "host")
        assert dns_record(site.pk) in refused.error["message"]
        assert said in refused.error["message"]
        assert api.get(f"/v1/sites/{site.pk}")["verifiedAt"] is None
    published.file_of(site)
    assert verify(other_api, theirs).status == 422
    assert verify(other_api, site).status == 404


@pytest.mark.parametrize("place", ["file", "txt"])
def test_a_record_in_either_place_verifies_and_is_logged(api, published, site, place):
    published.file, published.txt = Unreachable("no"), UNREACHABLE
    getattr(published, f"{place}_of")(site)
    first = verify(api, site)
    assert first["verifiedAt"] == first["updated"]
    assert verify(api, site)["verifiedAt"] == first["verifiedAt"]
    entry = auditlog.entries(resource_id=site.pk)[-1]
    assert (entry.action, entry.changes) == ("site.updated", {"verifiedAt": [None, first["verifiedAt"]]})


def test_a_second_account_takes_a_host_over_after_the_first_record_is_gone(api, other_api, published, site, theirs):
    published.file_of(site)
    verify(api, site)
    published.file_of(theirs)
    verify(other_api, theirs)
    assert api.get(f"/v1/sites/{site.pk}")["verifiedAt"] is None
    assert b"/theirs/" in documents().content
    entry = auditlog.entries(resource_id=site.pk)[-1]
    assert (entry.account_id, entry.actor_type, entry.actor_id) == (site.account_id, "system", None)


def test_a_first_record_that_cannot_be_looked_for_stays_valid(api, other_api, published, site, theirs):
    published.txt_of(site)
    verify(api, site)
    published.file_of(theirs)
    published.txt = UNREACHABLE
    verify(other_api, theirs)
    assert b"/own/" in documents().content


def test_another_host_has_to_be_verified_anew(api, published, site):
    published.file_of(site)
    verify(api, site)
    assert api.patch(f"/v1/sites/{site.pk}", {"mode": "observe"})["verifiedAt"] is not None
    assert api.patch(f"/v1/sites/{site.pk}", {"host": "other.example"})["verifiedAt"] is None


def test_a_host_that_changes_while_it_is_looked_at_is_not_verified(api, published, site, monkeypatch):
    look = verification.look_at_host

    async def look_and_change(host):
        published.file_of(site)
        return await look(host)

    evidence = async_to_sync(look_and_change)(HOST)
    update_site(site, {"host": "other.example"})

    async def late(host):
        return evidence

    monkeypatch.setattr("licensing.sites.views.look_at_host", late)
    refused = verify(api, site)
    assert (refused.status, refused.error["message"]) == (422, "The host has changed meanwhile. Verify the new one.")


@contextmanager
def name_server(*texts: str, code: int = 0) -> Iterator[dns.asyncresolver.Resolver]:
    """A local name server that answers each question with these TXT records."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            packet, client = server.recvfrom(4096)
            question = dns.message.from_wire(packet)
            reply = dns.message.make_response(question)
            reply.set_rcode(code)
            if texts:
                reply.answer.append(dns.rrset.from_text(question.question[0].name, 60, "IN", "TXT", *texts))
            server.sendto(reply.to_wire(), client)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], server.getsockname()[1]
        yield resolver
        thread.join()


def test_txt_records_are_read_whole_or_not_at_all():
    with name_server('"content-access-"  "licensing=site_1"', '"v=spf1 -all"') as resolver:
        found = async_to_sync(read_txt)(HOST, resolver)
    assert found == VerificationSource(txt_name(HOST), frozenset({"content-access-licensing=site_1", "v=spf1 -all"}))
    for code in [0, 3]:
        with name_server(code=code) as resolver:
            assert async_to_sync(read_txt)(HOST, resolver) == VerificationSource(txt_name(HOST))
    with name_server(code=2) as resolver:
        assert async_to_sync(read_txt)(HOST, resolver).problem == "the name servers do not answer."
    for host in ["localhost", "127.0.0.1", "intranet", "2130706433", "db.internal"]:
        assert "public" in (found := async_to_sync(read_file)(host)).problem or "IPv4" in found.problem
        assert found.records == frozenset()

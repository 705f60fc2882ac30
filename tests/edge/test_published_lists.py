import json
from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F

from config.jobs import JOBS_OF_EACH_PROCESS, SHARED_JOBS
from kit.outbound.client import Client
from licensing.edge.current_crawlers import current_table, fetch_published_lists
from licensing.edge.verification import published_addresses, published_lists
from licensing.edge.verification.models import AddressList
from licensing.edge.verification.published_lists import StoredLists, fetch_lists, stored_lists
from tests.outbound.receivers import Names, certificate_of, receiver

SEEKER, ADDRESS = "Seeker/1.0", "8.8.4.4"
SEARCHED = {"action": "allow", "conditions": {"default": True}, "permissions": ["search"]}
pytestmark = pytest.mark.django_db


def reply(body, status="200 OK", headers=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data


def published(*ranges):
    return reply({"creationTime": "2026-11-20T10:00:00", "prefixes": [{"ipv4Prefix": one} for one in ranges]})


@pytest.fixture(autouse=True)
def _no_lists_before():
    stored_lists.forget()
    yield
    stored_lists.forget()
    current_table.looked_at = float("-inf")


class Operator:
    """The publisher of Seeker's list; `answer` is its next reply."""

    def __init__(self, there, trusting):
        self.there = there
        self.url = f"https://seeker.example:{there.port}/bots.json"
        self.client = partial(Client, allow_private=True, resolve=Names("127.0.0.1"), certificates=trusting)

    def is_fetched(self, answer):
        """Fetch a due list and reload it in this process."""
        self.answer = answer
        AddressList.objects.update(attempted_at=F("attempted_at") - timedelta(days=1))
        [fetched] = fetch_lists([self.url], self.client)
        stored_lists.read()
        current_table.looked_at = float("-inf")
        return fetched


@pytest.fixture
def operator(tmp_path, crawler_table):
    server, trusting = certificate_of("seeker.example", tmp_path)
    with receiver(lambda connection, _: connection.sendall(made.answer), tls=server) as there:
        made = Operator(there, trusting)
        crawler_table(
            {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker",
             "addressLists": [made.url]}
        )  # fmt: skip
        yield made


def test_a_crawler_is_recognised_by_an_address_in_a_fetched_list(operator, ask, site):
    site(SEARCHED)
    assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).headers["X-Access-Requester"] == (
        "unverified:seeker"
    )
    operator.is_fetched(published("8.8.4.0/24"))
    found = ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
    assert (found.status, found.headers["X-Access-Requester"]) == (200, "crawler:seeker")
    assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for="8.8.8.8").headers["X-Access-Requester"] == (
        "unverified:seeker"
    )


def test_a_new_valid_list_replaces_the_copy(operator, monkeypatch, tmp_path):
    operator.is_fetched(published("8.8.4.0/24"))
    operator.is_fetched(published("8.8.8.0/24"))
    [seeker] = current_table.get().crawlers
    assert seeker.addresses == ("8.8.8.0/24",)
    for answer, failure in [
        (reply(b"<html>Sign in</html>"), "JSON is malformed"),
        (reply(b""), "Input data was truncated"),
        (reply({"prefixes": []}), "Expected `array` of length >= 1"),
        (reply({"prefixes": [{"ipv4Prefix": "0.0.0.0/0"}]}), "wider than any range"),
        (reply({"prefixes": [{"service": "x"}]}), "neither ipv4Prefix nor ipv6Prefix"),
        (reply({"ranges": ["8.8.4.0/24"]}), "missing required field `prefixes`"),
        (reply(b"", "503 Service Unavailable"), "It answered 503."),
        (reply(b"", "404 Not Found"), "It answered 404."),
        (reply(b"", "302 Found", "Location: https://127.0.0.1/secret\r\n"), "points to https://127.0.0.1/secret"),
        (b"", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", "RemoteProtocolError"),
    ]:
        operator.is_fetched(published("8.8.4.0/24"))
        copied_at = AddressList.objects.get().fetched_at
        assert failure in operator.is_fetched(answer).failure
        kept = AddressList.objects.get()
        assert (kept.ranges, kept.fetched_at) == (["8.8.4.0/24"], copied_at)
        assert failure in kept.failure
        assert kept.failed_at > copied_at
        [seeker] = current_table.get().crawlers
        assert seeker.addresses == ("8.8.4.0/24",)
        assert operator.is_fetched(published("8.8.4.0/24")).failure == ""
        assert AddressList.objects.get().failure == ""
    monkeypatch.setattr(published_addresses, "LONGEST_FILE", 1000)
    monkeypatch.setattr(published_lists, "LONGEST_FILE", 1000)
    assert "larger than 1,000 bytes" in operator.is_fetched(published(*["8.8.8.0/24"] * 100)).failure
    assert AddressList.objects.get().ranges == ["8.8.4.0/24"]
    with receiver(published("8.8.4.0/24")) as inside:
        answer = reply(b"", "302 Found", f"Location: http://127.0.0.1:{inside.port}/bots.json\r\n")
        assert "It answered 302" in operator.is_fetched(answer).failure
        assert inside.connections == 0


@pytest.mark.parametrize("url", ["https://127.0.0.1/bots.json", "https://localhost/bots.json", "https://10.0.0.7/a"])
def test_lists_at_private_addresses_are_not_fetched(url):
    [fetched] = fetch_lists([url])
    assert fetched.failure
    assert AddressList.objects.get().fetched_at is None


def test_a_name_that_leads_to_a_private_address_is_not_fetched():
    with receiver(published("8.8.4.0/24")) as inside:
        client = partial(Client, resolve=Names("127.0.0.1"))
        [fetched] = fetch_lists(["https://seeker.example/bots.json"], client)
        assert fetched.failure
        assert inside.connections == 0


def test_a_list_is_fetched_once_a_day_and_an_hour_after_a_failure(operator):
    operator.is_fetched(published("8.8.4.0/24"))
    assert fetch_lists([operator.url], operator.client) == []
    operator.is_fetched(reply(b"", "503 Service Unavailable"))
    assert fetch_lists([operator.url], operator.client) == []
    AddressList.objects.update(attempted_at=F("attempted_at") - timedelta(hours=1))
    operator.answer = published("8.8.8.0/24")
    assert [one.failure for one in fetch_lists([operator.url], operator.client)] == [""]


def test_another_process_reads_the_copy_and_reads_it_again_only_after_a_change(operator, django_assert_num_queries):
    operator.is_fetched(published("8.8.4.0/24"))
    other = StoredLists()
    other.read()
    assert (other.ranges, other.version) == ({operator.url: frozenset({"8.8.4.0/24"})}, 1)
    with django_assert_num_queries(1):
        other.read()
    operator.is_fetched(published("8.8.8.0/24"))
    other.read()
    assert (other.ranges, other.version) == ({operator.url: frozenset({"8.8.8.0/24"})}, 2)


def test_lists_are_fetched_and_read_only_with_the_setting(settings):
    jobs = [
        job for job in (*JOBS_OF_EACH_PROCESS, *SHARED_JOBS) if job.act in (fetch_published_lists, stored_lists.read)
    ]
    assert len(jobs) == 2
    for value in (False, True):
        settings.CRAWLER_LISTS = value
        assert [job.is_due() for job in jobs] == [value, value]

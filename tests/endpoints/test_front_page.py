import re
import shlex
from html import unescape

import orjson
import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from msgspec import structs

from accounts.models import Account, ApiKey, AuditEntry
from accounts.plans.services import suspend_account
from analytics.models import AccessEvent, LedgerEntry
from licensing.content.models import Content
from licensing.demo.account import seed_demo
from licensing.demo.story import SHOWN_CUSTOMERS, SHOWN_ITEMS
from licensing.requesters.models import Requester
from tests import factories
from tests.client import ApiClient
from tests.decisions.facts_seen import Seen, recorded_and_replayed

pytestmark = pytest.mark.django_db

WRITTEN = (AccessEvent, LedgerEntry, Requester, AuditEntry)


@pytest.fixture(scope="module")
def demo(for_the_module):
    with for_the_module():
        return seed_demo(timezone.now(), days=30)


def front(**asked: str) -> str:
    """The page's text."""
    reply = Client().get("/", asked)
    assert reply.status_code == 200
    return unescape(reply.content.decode())


def answer(**asked: str) -> str:
    """Return the answer part of the page as text with single spaces."""
    html = front(**asked)
    part = html[html.index('id="answer"') : html.index('id="story"')]
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def curl(html: str) -> list[str]:
    [line] = re.findall(r"<code>(curl -s .*?)</code>", html, re.DOTALL)
    return shlex.split(line)


@pytest.mark.slow
def test_a_check_of_the_demo_stands_there_at_once_with_its_charge_and_its_trace(demo):
    told = answer()
    assert "Allowed" in told
    assert "Charge 0.35 GBP" in told
    assert "Licence commercial, issued by the service" in told
    assert "Does not match: licenseType wants enterprise, saw commercial. Allow if" in told
    assert "Decides. Allow if" in told


def test_every_choice_is_answered(demo):
    for item in SHOWN_ITEMS:
        for requester in SHOWN_CUSTOMERS:
            html = front(requester=requester, item=item)
            assert f'value="{requester}" checked' in html
            assert f'value="{item}" checked' in html
            assert "No answer" not in html
    assert len({answer(requester=one, item=other)[36:70] for one in SHOWN_CUSTOMERS for other in SHOWN_ITEMS}) >= 5
    told = answer(requester="reader_0417", item="herring-quota")
    assert "Denied: no_license" in told
    assert "There was no valid licence" in told
    assert "A licence is required." in told
    assert "Charge nothing" in told
    before = [model.objects.count() for model in WRITTEN]
    for requester in SHOWN_CUSTOMERS:
        front(requester=requester)
    assert [model.objects.count() for model in WRITTEN] == before


def test_the_curl_line_is_the_same_check_and_gets_the_same_answer(demo, monkeypatch):
    for requester in SHOWN_CUSTOMERS:
        html = front(requester=requester)
        words = curl(html)
        assert words[2] == "http://testserver/v1/access/check"
        assert "Authorization: Bearer $KEY" in words
        reply = ApiClient(demo.secret_key).post("/v1/access/check", orjson.loads(words[-1]))
        assert reply["dryRun"] is True
        assert ("Allowed" in answer(requester=requester)) is reply["allowed"]
    seen = Seen(monkeypatch)
    for requester in SHOWN_CUSTOMERS:
        printed = orjson.loads(curl(front(requester=requester))[-1])
        reply = ApiClient(demo.secret_key).post("/v1/access/check", {**printed, "dryRun": False})
        [of_page, of_check] = [structs.replace(answer.facts, now=demo.account.created) for answer in seen.answers[-2:]]
        assert of_page == of_check
        assert recorded_and_replayed(reply["id"]) == (seen.answers[-1].facts,) * 2


def test_the_page_has_no_key_and_is_not_cached(demo, django_assert_max_num_queries):
    html = front()
    assert demo.secret_key not in html
    assert demo.public_key not in html
    assert not [key.prefix for key in ApiKey.objects.all() if key.prefix in html]
    assert Client().get("/").headers["Cache-Control"] == "no-store"
    with django_assert_max_num_queries(12):
        front()


def test_only_prepared_checks_can_be_run(demo):
    other = factories.account("Somebody else")
    factories.content(other, external_id="my-secret", title="Their secret", policy_id=factories.policy(other).pk)
    for asked in [
        {"requester": "org_secret", "item": "my-secret"}, {"account": "acc_x", "requester": "org_secret"},
        {"requester": "<script>alert(1)</script>"}, {"item": "\0"},
    ]:  # fmt: skip
        assert answer(**asked) == answer()
        assert "secret" not in front(**asked)
        assert "<script>alert" not in front(**asked)


@pytest.fixture
def no_demo():
    """Make demo accounts of other tests ordinary ones."""
    Account.objects.filter(is_demo=True).update(is_demo=None)


def test_without_a_demo_the_page_says_what_to_do_and_reveals_no_accounts(no_demo):
    account = factories.account("Private House")
    factories.content(account, external_id="herring-quota", title="Private matter")
    html = front(item="herring-quota", requester="org_fenwick")
    assert "There is no demo account to try this on" in html
    assert "seed_demo --beside" in html
    assert "Private" not in html
    assert 'id="answer"' not in html


def test_it_stands_while_the_database_is_gone(monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise OperationalError("the connection is gone")

    monkeypatch.setattr(connection, "cursor", fail)
    assert "There is no demo account to try this on" in front()


def test_the_page_has_the_story_of_the_readme_and_links(monkeypatch):
    html = front()
    readme = (settings.BASE_DIR / "README.md").read_text()
    lines = readme.partition("```bash\n")[2].partition("```")[0].strip().splitlines()
    assert len(lines) == 13
    for line in lines:
        assert line.replace("http://127.0.0.1:8000", "http://testserver") in html
    assert "127.0.0.1" not in html
    for link in ("/docs/", "/docs/api/", "/v1/openapi.json", "/admin/"):
        assert f'href="{link}"' in html
    for setting in ["ADMIN_HOST", "ADMIN_PORT"]:
        monkeypatch.setattr(settings, setting, {"ADMIN_HOST": "internal.example", "ADMIN_PORT": 8001}[setting])
        for path in ("/", "/docs/api/"):
            assert "/admin/" not in Client().get(path).content.decode()


def test_it_answers_by_the_oldest_demo_that_is_not_suspended(demo):
    Account.objects.filter(pk=demo.account.pk).update(name="Renamed")
    assert "Allowed" in answer()
    Content.objects.filter(account=demo.account, external_id="last-ferry").update(deleted_at=timezone.now())
    assert "No answer" in answer(item="last-ferry")
    assert "Allowed" in answer()
    suspend_account(demo.account)
    assert "no demo account" in front()

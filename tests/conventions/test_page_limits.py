import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.edge.documents import ROBOTS, RSL, TDMREP

LOGIN, INDEX = reverse("admin:login"), reverse("admin:index")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def tight(monkeypatch, clock, tmp_path):  # noqa: F811
    """Three pages a minute, without a built documentation: only its placeholder page counts."""
    monkeypatch.setattr(settings, "PAGES_PER_MINUTE", 3)
    monkeypatch.setattr(settings, "DOCS_SITE", tmp_path / "site")


def statuses(client, path, count, **options):
    return [client.get(path, **options).status_code for _ in range(count)]


@pytest.mark.parametrize("path", ["/", "/docs/", LOGIN, INDEX, "/nowhere", "/static/no-such-file"])
def test_an_address_may_ask_for_so_many_pages(path):
    assert 429 not in statuses(Client(), path, 3)
    reply = Client().get(path)
    assert reply.status_code == 429
    assert reply.headers["Content-Type"].startswith("text/html")
    assert 1 <= int(reply.headers["Retry-After"]) <= 60
    assert "Too many requests" in reply.content.decode()
    assert reply.headers["X-Request-Id"]


def test_all_pages_are_counted_together_and_another_address_is_not():
    client = Client()
    assert [client.get(path).status_code for path in ("/", "/docs/", LOGIN, "/")] == [200, 200, 200, 429]
    assert client.get("/", REMOTE_ADDR="203.0.113.9").status_code == 200


def test_whoever_has_fetched_too_many_terms_can_still_sign_in(account):
    factories.site(account, {"/*": factories.policy(account)}, host="pub.example")
    terms = [RSL, ROBOTS, TDMREP, RSL]
    assert [Client().get(path, headers={"Host": "pub.example"}).status_code for path in terms] == [200, 200, 200, 429]
    assert statuses(Client(), LOGIN, 4) == [200, 200, 200, 429]


def test_probes_metrics_and_files_are_free_and_the_api_has_limits_of_its_own(api):
    for path in ["/livez", "/readyz", "/metrics", "/static/brand/mark.svg"]:
        assert set(statuses(Client(), path, 10)) == {200}, path
    statuses(Client(), "/", 4)
    assert api.get("/v1/content").status == 200


def test_the_next_minute_begins_at_nothing(clock):  # noqa: F811
    assert statuses(Client(), "/", 4)[-1] == 429
    clock.advance(minutes=1)
    assert Client().get("/").status_code == 200


@pytest.mark.slow
def test_a_signed_in_operator_has_ten_times_the_limit_of_the_address():
    operator = Client()
    operator.force_login(User.objects.create_superuser("operator"))
    assert operator.get(INDEX).status_code == 200
    statuses(Client(), "/", 4)
    assert statuses(operator, INDEX, 31) == [200] * 30 + [429]


def test_a_forged_cookie_does_not_raise_the_limit():
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    assert statuses(client, LOGIN, 4)[-1] == 429

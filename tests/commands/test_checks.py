import re

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import override_settings
from django.utils import timezone

from analytics.archive.models import ArchiveHorizon
from analytics.models import AccessEvent
from run import ROOT
from tests import factories

pytestmark = pytest.mark.django_db
LONG = "correct horse battery staple, and then some more of it"
DEPLOYED = {
    "SECRET_KEY": LONG[::-1],
    "API_KEY_PEPPER_TEXT": LONG,
    "ALLOWED_HOSTS": ["api.publisher.example"],
    "TRUSTED_PROXIES": ["10.0.0.0/8"],
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
}


def found(**changed):
    """Return the ids of a deployment check's findings."""
    with override_settings(**{**DEPLOYED, **changed}):
        return {message.id for message in run_checks(include_deployment_checks=True) if not message.is_silenced()}


@pytest.fixture(autouse=True)
def _private(settings, tmp_path, monkeypatch):
    """Use a private data directory and database, without findings."""
    tmp_path.chmod(0o700)
    settings.DATA_DIR = tmp_path
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", tmp_path / "db.sqlite3")


def test_weak_secrets_and_settings_are_reported():
    assert found() == set()
    for pepper in ("abc", "a" * 49 + "b", "x" * 200, "other-fifty-random-characters"):
        assert found(API_KEY_PEPPER_TEXT=pepper) == {"accounts.W001"}
    assert found(SECRET_KEY="abc") == {"security.W009"}
    for path in ("docs/guides/deployment.md", "README.md", "compose.yaml"):
        samples = re.findall(r"(SECRET_KEY|API_KEY_PEPPER)=([^\s$#]+)", (ROOT / path).read_text())
        assert samples
        for name, value in samples:
            setting = {"API_KEY_PEPPER": "API_KEY_PEPPER_TEXT"}.get(name, name)
            assert found(**{setting: value}), (name, value)
    for changed, id_ in (
        ({"METRICS_TOKEN": "metrics"}, "accounts.W002"),
        ({"ALLOWED_HOSTS": ["*"]}, "accounts.W003"),
        ({"DEBUG": True}, "security.W018"),
    ):
        assert found(**changed) == {id_}


def test_a_site_whose_visitors_share_addresses_is_reported(account):
    assert found() == set()
    site = factories.site(account, host="pub.example")
    visitors = [factories.requester(account) for _ in range(2)]
    for number in range(60):
        facts = {"siteId": site.pk, "ip": "198.51.100.0"}
        fields = {"requester": visitors[number % 2], "allowed": True, "facts": facts, "created": timezone.now()}
        AccessEvent.objects.create(account=account, content=site.pages, **fields)
    assert found() == {"licensing.W001"}


def test_networks_of_proxies_are_small_and_valid():
    for network in ("proxy", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1-10.0.0.9"):
        with (
            override_settings(TRUSTED_PROXIES=[network]),
            pytest.raises(SystemCheckError, match=r"E002.*TRUSTED_PROXIES"),
        ):
            call_command("check")
    for networks in (
        ["0.0.0.0/0"], ["::/0"], ["0.0.0.0/1", "128.0.0.0/1"], ["10.0.0.0/8", "128.0.0.0/1"], ["::ffff:0:0/96"],
        ["2000::/3"], [f"{number}.0.0.0/8" for number in range(1, 256)],
    ):  # fmt: skip
        with override_settings(TRUSTED_PROXIES=networks), pytest.raises(SystemCheckError, match="E003"):
            call_command("check")
    proxies = ["10.0.0.0/8", "172.16.0.0/12", "203.0.113.7", "2400:cb00::/32", "fc00::/7", "::1"]
    assert found(TRUSTED_PROXIES=proxies) == set()


MISSPELT = {
    "EDGE_CACHE_SECOND": "EDGE_CACHE_SECONDS", "ALLOWED_HOST": "ALLOWED_HOSTS", "SECRETKEY": "SECRET_KEY",
    "DATABASE_URI": "DATABASE_URL", "WEBHOOK_DELIVER": "WEBHOOKS_DELIVER", "THREAD": "THREADS",
}  # fmt: skip
OTHERS = (
    "HOME", "HOSTNAME", "PGHOST", "DATABASE_USER", "REDIS_PORT", "LOG_LEVEL", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)  # fmt: skip


def test_misspelt_settings_are_reported_and_other_variables_are_not(monkeypatch):
    for name in (*MISSPELT, *OTHERS):
        monkeypatch.setenv(name, "s3cret")
    assert sorted((warning.id, warning.msg, warning.hint) for warning in run_checks()) == sorted(
        ("accounts.W006", f"The environment variable {name} is not a setting.", f"Did you mean {meant}?")
        for name, meant in MISSPELT.items()
    )


def test_sqlite_has_no_replica(settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES, "replica", {})
    with pytest.raises(SystemCheckError, match=r"E006.*REPORTS_DATABASE_URL"):
        call_command("check")


def test_data_open_to_others_is_reported(tmp_path):
    assert found(DATA_DIR=ROOT / "no such folder") == {"accounts.W005"}
    folder = tmp_path / "archive"
    folder.mkdir(mode=0o750)
    assert found(ARCHIVE_DIR=str(folder)) == set()
    folder.chmod(0o755)
    assert found(ARCHIVE_DIR=str(folder)) == {"analytics.W001"}
    tmp_path.chmod(0o755)
    assert found() == {"accounts.W004"}


def test_months_that_only_the_archive_has_need_its_packages(monkeypatch):
    monkeypatch.setattr("analytics.archive.system_checks.PACKAGES", ("pyarrow", "no_such_package"))
    assert found() == set()
    ArchiveHorizon.objects.create(begin=timezone.now())
    assert found() == {"analytics.W002"}

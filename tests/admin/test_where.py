import os
import subprocess
import sys

import pytest
from django.conf import settings as django_settings
from django.test import Client

PROBE = """
import django; django.setup()
from django.conf import settings
from django.core.management import call_command
from django.test import Client
call_command("check")
import config.asgi
client = Client(SERVER_NAME="localhost")
print([client.get(path).status_code for path in ("/admin/", "/admin/login/", "/admin", "/", "/v1/content")])
print([name for name in settings.MIDDLEWARE if "session" in name or "auth" in name or "csrf" in name.lower()])
print(any(name.partition(".")[0] in ("unfold", "operators") for name in __import__("sys").modules))
"""


@pytest.fixture(scope="module")
def switched_off():
    """Return the output of a process with ADMIN=off."""
    environment = {**os.environ, "ADMIN": "off", "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=django_settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-3:]


def test_switched_off_there_is_no_admin_and_it_costs_nothing(switched_off):
    assert switched_off[0] == "[404, 404, 404, 200, 401]"
    assert switched_off[1:] == ["[]", "False"]


def test_with_a_host_of_its_own_it_answers_there_alone(settings, db):
    settings.ADMIN_HOST, settings.ALLOWED_HOSTS = "admin.example", ["admin.example", "api.example", "localhost"]
    for host, status in (
        ("admin.example", 200),
        ("ADMIN.example:8000", 200),
        ("api.example", 404),
        ("localhost", 404),
    ):
        assert Client().get("/admin/login/", headers={"host": host}).status_code == status, host
        assert Client().get("/v1/content", headers={"host": host}).status_code == 401, host


def test_it_answers_at_its_own_port_and_nothing_is_said_elsewhere(settings, db):
    for port, status in (("9000", 200), ("8000", 404)):
        settings.ADMIN_PORT = 9000
        for host in ("localhost", "localhost:9000", "localhost:8000"):
            assert Client().get("/admin/login/", SERVER_PORT=port, headers={"host": host}).status_code == status
    settings.ADMIN_PORT = 9000
    hidden, missing = Client().get("/admin/login/"), Client().get("/nowhere/")
    assert hidden.content.replace(b"/admin/login/", b"/nowhere/") == missing.content
    assert "Content-Security-Policy" not in hidden.headers

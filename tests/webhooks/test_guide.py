"""The catalogue in docs/reference/events.md, and the guide's ways to verify a delivery, including the npm library."""

import json
import shutil
import subprocess
from contextlib import suppress
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.utils import timezone

from accounts.events.event_types import TYPES
from accounts.events.models import Event
from accounts.webhooks.secrets import Secret, generate
from accounts.webhooks.sending import build_request
from config.pages import openapi_document
from tests import factories
from tests.documentation.blocks import block
from tests.webhooks.catalogue import PAGE, page_with_catalogue

GUIDE = "docs/guides/webhooks.md"


def test_the_catalogue_and_the_openapi_document_have_every_type():
    assert PAGE.read_text() == page_with_catalogue(), "Run: python -m tests.webhooks.catalogue"
    document = openapi_document()
    assert set(document["webhooks"]) == {one.name for one in TYPES}
    assert set(document["components"]["schemas"]["EventType"]["enum"]) == {one.name for one in TYPES}


@pytest.fixture
def delivery(account):
    """Return a function that builds a delivery for a secret and a time."""
    factories.content(account, title="Größe")
    event = Event.objects.get(type="content.created")

    def made(secret, moment):
        headers, body = build_request(event, [Secret(generate(), None), Secret(secret, None)], moment)
        return {name.lower(): value for name, value in headers.items()}, body

    return made


def in_python(secret, headers, body):
    names: dict = {}
    exec(block(GUIDE, "from standardwebhooks"), names)  # noqa: S102 - the guide's own code
    try:
        return names["verify"](secret, headers, body)
    except Exception as error:
        return str(error)


def in_javascript(secret, headers, body):
    return run_by_node(block(GUIDE, "const { createHmac"), secret, headers, body)


def by_the_npm_library(secret, headers, body, folder):
    script = """
    const { Webhook } = require("standardwebhooks");
    const verify = (secret, headers, body) => new Webhook(secret).verify(body, headers);
    """
    return run_by_node(script, secret, headers, body, cwd=folder)


def program(name):
    return shutil.which(name) or pytest.skip(f"There is no {name} on this machine.")


def run_by_node(script, secret, headers, body, **options):
    call = f"verify({json.dumps(secret)}, {json.dumps(headers)}, {json.dumps(body.decode())})"
    attempt = f"try {{ result = {call} }} catch (error) {{ result = error.message }}"
    script = f"{script}\nlet result; {attempt}; console.log(JSON.stringify(result))"
    done = subprocess.run([program("node"), "-e", script], capture_output=True, check=True, text=True, **options)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def npm_packages(request):
    """Install the packages of npm/package-lock.json in a folder that later runs reuse."""
    pinned = Path(__file__).parent / "npm"
    version = sha256((pinned / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = request.config.cache.mkdir("npm") / version
    if not folder.exists():
        npm = program("npm")
        with TemporaryDirectory(dir=folder.parent) as made:
            there = shutil.copytree(pinned, Path(made) / "receiver")
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=there, capture_output=True, check=False, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"npm could not install the library: {done.stderr.strip().splitlines()[-1:]}")
            with suppress(OSError):  # another worker of the run was first
                there.rename(folder)
    return folder


@pytest.fixture(params=[in_python, in_javascript, by_the_npm_library])
def verify(request):
    if request.param is by_the_npm_library:
        return partial(by_the_npm_library, folder=request.getfixturevalue("npm_packages"))
    return request.param


def test_a_receiver_takes_what_is_sent_and_nothing_else(delivery, verify):
    secret = generate()
    headers, body = delivery(secret, timezone.now())
    assert verify(secret, headers, body) == json.loads(body)
    changed = body.replace(b"content.created", b"content.createe")
    for refused in (verify(secret, headers, changed), verify(generate(), headers, body)):
        assert "signature" in refused
    for minutes in (-6, 6):
        headers, body = delivery(secret, timezone.now() + timedelta(minutes=minutes))
        assert "imestamp" in verify(secret, headers, body)

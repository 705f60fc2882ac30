"""What docs/webhooks.md says is so: its catalogue, and its two ways to verify a delivery."""

import json
import re
import shutil
import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.events.models import Event
from accounts.events.types import TYPES
from accounts.webhooks.secrets import Secret, generate
from accounts.webhooks.sending import request_of
from config.pages import openapi_document
from tests import factories
from tests.webhooks.catalogue import GUIDE, guide_with_catalogue


def code(language):
    [text] = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return text


def test_the_catalogue_is_what_the_table_of_types_says():
    assert GUIDE.read_text() == guide_with_catalogue(), "Run: python -m tests.webhooks.catalogue"


def test_the_openapi_document_has_every_type():
    document = openapi_document()
    assert set(document["x-webhooks"]) == {one.name for one in TYPES}
    assert document["components"]["schemas"]["Event"]["properties"]["type"]["enum"] == [one.name for one in TYPES]


@pytest.fixture
def delivery(account):
    """A delivery at that moment, by that secret."""
    factories.content(account, title="Größe")
    event = Event.objects.get(type="content.created")

    def made(secret, moment):
        headers, body = request_of(event, [Secret(generate(), None), Secret(secret, None)], moment)
        return {name.lower(): value for name, value in headers.items()}, body

    return made


def in_python(secret, headers, body):
    names: dict = {}
    exec(code("python"), names)  # noqa: S102 - the guide's own code
    try:
        return names["verified"](secret, headers, body)
    except Exception as error:
        return str(error)


def in_javascript(secret, headers, body):
    node = shutil.which("node")
    if node is None:
        pytest.skip("There is no node on this machine.")
    call = f"verified({json.dumps(secret)}, {json.dumps(headers)}, {json.dumps(body.decode())})"
    told = f"try {{ told = {call} }} catch (error) {{ told = error.message }}"
    script = f"{code('js')}\nlet told; {told}; console.log(JSON.stringify(told))"
    done = subprocess.run([node, "-e", script], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("verify", [in_python, in_javascript])
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

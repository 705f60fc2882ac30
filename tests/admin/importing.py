"""Uploads for the tests of imports in the admin."""

import os

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from operators.catalogue import uploads

START = reverse("admin:licensing_content_import_items")
CSV = """externalId,title,type,tags,colour
a-1,First,report,x;y,red
a-2,,image,,blue
a-3,Third,sculpture,,green
a-4,"=HYPERLINK(""http://evil"")",nonsense,,
a-5,Fifth,article,,
"""


@pytest.fixture
def own_directory(tmp_path, settings):
    settings.DATA_DIR = tmp_path


def files():
    return sorted(os.listdir(uploads.directory()))


@pytest.fixture
def bring(admin, account):
    """Upload a file as an operator and return its preview's address."""

    def make(text=CSV, name="items.csv", client=admin, **fields):
        file = SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode())
        reply = client.post(START, {"account": account.pk, "file": file, **fields})
        assert reply.status_code == 302, reply.context["form"].errors
        return reply.headers["Location"]

    return make


def tally(client, address):
    reply = client.get(address)
    assert reply.status_code == 200
    return reply.context["outcome"].tally

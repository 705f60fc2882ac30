import os

import pytest
from django.conf import settings

from licensing.content.models import Content
from operators.catalogue import uploads
from tests.admin.forms import form_values
from tests.admin.importing import START, files

pytestmark = pytest.mark.usefixtures("own_directory")


def test_abandoned_files_are_deleted_after_a_day(admin, bring):
    address = bring()
    for name in files():
        os.utime(uploads.directory() / name, (0, 0))
    assert admin.get(address).headers["Location"] == START
    assert uploads.purge() == 3
    assert files() == []


def test_a_file_is_private_found_by_its_operator_alone_and_goes_after_the_import(
    admin, account, bring, sign_in, staff
):
    address = bring()
    client = sign_in(staff(is_superuser=True))
    assert client.get(address).headers["Location"] == START
    assert client.post(address, {"import": "1"}).headers["Location"] == START
    assert client.get(f"{address}bad-rows.csv").status_code == 404
    assert not Content.objects.exists()

    assert [one.rpartition(".")[2] for one in files()] == ["bad", "data", "json"]
    assert uploads.directory().stat().st_mode & 0o077 == 0
    assert all((uploads.directory() / name).stat().st_mode & 0o077 == 0 for name in files())
    assert str(uploads.directory()).startswith(str(settings.DATA_DIR))
    admin.post(address, {"import": "1"})
    assert [one.rpartition(".")[2] for one in files()] == ["bad", "json"]


def test_files_and_chosen_columns_are_there_after_another_login(admin, account, bring, sign_in):
    address = bring("externalId,name\nm-1,Markets\n")
    values = form_values(admin.get(address).content.decode())
    html = admin.post(address, {**values, "externalId": "name", "_edit": "back"}, follow=True).content.decode()
    assert (values["externalId"], form_values(html)["externalId"]) == (["externalId"], ["name"])
    assert not Content.objects.exists()

    address = bring()
    again = sign_in(admin.get("/admin/").wsgi_request.user)
    assert again.get(address).status_code == 200
    again.post(address, {"import": "1"})
    assert Content.objects.exists()

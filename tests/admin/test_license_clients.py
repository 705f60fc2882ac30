import re

from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry
from licensing.clients.models import LicenseClient
from licensing.clients.services import authenticate
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, submit

ADD = reverse("admin:licensing_licenseclient_add")


def shown_secrets(reply):
    return re.findall(r"svc_cs_[0-9A-Za-z]{34}", reply.content.decode())


def act(client, made, action, **fields):
    return submit(client, reverse(f"admin:licensing_licenseclient_{action}", args=[made.pk]), **fields)


def works(made, secret):
    return authenticate(made.pk, secret, timezone.now()) is not None


def test_an_operator_makes_rotates_and_revokes_a_client_and_sees_its_secret_once(admin, account):
    reply = submit(admin, ADD, account=account.pk, requester_own_id="org_acme", name="Crawler")
    [secret] = set(shown_secrets(reply))
    made = LicenseClient.objects.get()
    assert (made.requester.requester_id, works(made, secret)) == ("org_acme", True)
    assert "no-store" in reply.headers["Cache-Control"]
    assert shown_secrets(admin.get(change_url(made))) == []

    made, old = factories.license_client(account)
    [new] = set(shown_secrets(act(admin, made, "rotate", overlap_seconds="0")))
    assert (works(made, old), works(made, new)) == (False, True)
    made, secret = factories.license_client(account)
    assert act(admin, made, "revoke").status_code == 302
    assert not works(made, secret)
    assert "revoked" in admin.get(change_url(made)).content.decode()


def test_a_rotation_that_is_sent_twice_shows_one_secret_and_keeps_the_old_one_for_its_overlap(admin, account):
    made, old = factories.license_client(account)
    address = reverse("admin:licensing_licenseclient_rotate", args=[made.pk])
    opened = form_values(admin.get(address).content.decode())
    [first], [again] = (set(shown_secrets(admin.post(address, {**opened, "overlap_seconds": "3600"}))) for _ in "12")
    assert first == again
    assert (works(made, old), works(made, first)) == (True, True)
    assert AuditEntry.objects.filter(action="license_client.rotated").count() == 1
    [other] = set(shown_secrets(act(admin, made, "rotate", overlap_seconds="0")))
    assert (other != first, works(made, first)) == (True, False)

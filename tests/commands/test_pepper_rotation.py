import time
from hashlib import sha256
from unittest.mock import Mock

import pytest
from django.utils import timezone

from accounts.keys import authentication
from accounts.keys.authentication import read_grants
from accounts.keys.services import find_key
from accounts.models import ApiKey, Authenticator, WebhookEndpoint
from accounts.sealing import sealer
from accounts.webhooks import secrets
from config.management.commands.serve import fault_of_database
from licensing.access.tokens import signing
from licensing.access.tokens.models import SigningKey
from licensing.clients.services import authenticate
from operators.login import second_factor, totp
from tests import factories
from tests.commands.calling import printed, printed_json

pytestmark = pytest.mark.django_db
NEW = sha256(b"another pepper").digest()


@pytest.fixture
def change_pepper(settings):
    """A function that makes NEW the pepper, and the one until now a former one."""

    def change():
        settings.FORMER_PEPPERS = (settings.API_KEY_PEPPER,)
        settings.API_KEY_PEPPER = NEW

    return change


def test_keys_of_the_former_pepper_work_and_are_stored_anew_when_used(account, connect, settings, change_pepper):
    api, text = connect(used := factories.key_text(account)), factories.key_text(account)
    fault_of_database()
    change_pepper()
    assert fault_of_database() is None
    check = {"contentId": factories.content(account).pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check).status == 200
    assert api.get("/v1/accounts/me").status == 200
    assert printed_json("accept_pepper")["keys"] == 2  # not used since
    assert find_key(ApiKey.objects.all(), text) is not None
    settings.FORMER_PEPPERS = ()
    assert find_key(ApiKey.objects.all(), used) is not None
    assert find_key(ApiKey.objects.all(), text) is None
    assert fault_of_database() is None


def test_once_every_key_is_stored_anew_the_former_pepper_can_go(account, connect, change_pepper):
    text = factories.key_text(account)
    change_pepper()
    assert printed("accept_pepper").endswith(
        "1 keys have not been used with it. Keep API_KEY_PEPPER_PREVIOUS until they are.\n"
    )
    connect(text).get("/v1/accounts/me")
    assert printed("accept_pepper").endswith("All keys have been used with it: remove API_KEY_PEPPER_PREVIOUS.\n")


def test_only_keys_of_a_former_pepper_cost_a_second_query(account, change_pepper, monkeypatch):
    read = Mock(wraps=read_grants)
    monkeypatch.setattr(authentication, "read_grants", read)
    former = factories.key_text(account)
    change_pepper()
    current = factories.key_text(account)
    assert authentication.find_grant(current).new_digest is None
    assert read.call_count == 1
    assert authentication.find_grant(former).new_digest is not None
    assert read.call_count == 3


def test_licence_clients_keep_their_secrets(account, settings, change_pepper):
    client, secret = factories.license_client(account)
    _, another = factories.license_client(account)
    change_pepper()
    now = timezone.now()
    assert authenticate(client.pk, another, now) is None
    assert authenticate(client.pk, secret, now) == client
    settings.FORMER_PEPPERS = ()
    assert authenticate(client.pk, secret, now) == client
    assert authenticate(client.pk, another, now) is None


def test_stored_secrets_are_encrypted_anew(account, api, settings, change_pepper, django_user_model):
    fault_of_database()
    factories.endpoint(account, headers={"Authorization": "Bearer s3cret"})
    signer = signing.current_signer()
    operator = django_user_model.objects.create_user("ada")
    totp_secret = b"0123456789abcdefghij"
    _, code, *_ = second_factor.set_up(operator, totp_secret, totp.code_at(totp_secret, int(time.time()) // totp.STEP))
    once = {"Idempotency-Key": "once"}
    item = api.post("/v1/content", {"title": "Markets"}, headers=once)
    change_pepper()
    assert api.post("/v1/content", {"title": "Markets"}, headers=once)["id"] == item["id"]
    assert second_factor.accepts(operator, code)
    assert (printed_json("accept_pepper")["encrypted"], printed_json("accept_pepper")["encrypted"]) == (4, 4)
    settings.FORMER_PEPPERS = ()
    endpoint = WebhookEndpoint.objects.get()
    assert secrets.open_headers(endpoint.headers) == {"Authorization": "Bearer s3cret"}
    assert len(secrets.open_secrets(endpoint.secrets, timezone.now())) == 1
    signing.forget_signer()
    assert signing.current_signer().kid == signer.kid
    sealed = bytes(Authenticator.objects.get().secret)
    assert sealer(second_factor.PURPOSE).decrypt(sealed) == totp_secret
    assert SigningKey.objects.count() == 1


def test_secrets_of_a_pepper_that_nobody_names_stay_and_are_counted(account, settings):
    factories.endpoint(account)
    settings.API_KEY_PEPPER = NEW
    result = printed_json("accept_pepper")
    assert (result["encrypted"], result["unreadable"]) == (0, 1)

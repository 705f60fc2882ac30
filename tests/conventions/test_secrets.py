from accounts.keys import keytext
from accounts.keys.authentication import find_grant
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_read
from tests.stored import everything_stored


def secret_part(text):
    return text[keytext.PREFIX_CHARACTERS :]


def test_a_key_is_in_no_table_and_no_repr(account):
    text = factories.key_text(account)
    ApiClient(text).get("/v1/content")
    stored = everything_stored()
    assert secret_part(text).encode() not in stored
    assert keytext.digest(text) in stored

    key, text = factories.api_key(account)
    for shown in (repr(key), str(key), repr(find_grant(text)), f"{key.__dict__}"):
        assert secret_part(text) not in shown
    for shown in (repr(key), str(key), repr(find_grant(text))):
        assert repr(keytext.digest(text)) not in shown


@each_read()
def test_no_read_shows_a_key(api, account, ids, endpoint):
    assert secret_part(factories.key_text(account)).encode() not in endpoint.send(api, ids).content


def test_a_key_has_a_checksum_160_random_bits_and_a_peppered_digest(settings):
    text = keytext.generate("secret")
    assert keytext.is_well_formed(text)
    assert 62**keytext.RANDOM_CHARACTERS >= 2**160
    swapped = text[:8] + text[9] + text[8] + text[10:]
    assert swapped == text or not keytext.is_well_formed(swapped)

    before = keytext.digest(text)
    settings.API_KEY_PEPPER = b"another"
    assert keytext.digest(text) != before


def test_errors_do_not_repeat_the_key(db):
    text = keytext.generate("secret")
    for reply in (ApiClient(text).get("/v1/content"), ApiClient(text[:-1]).get("/v1/content")):
        assert secret_part(text)[:-1].encode() not in reply.content

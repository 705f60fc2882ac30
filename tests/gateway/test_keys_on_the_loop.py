"""The event loop (licensing.access.event_loop.lookup) finds the same keys as a thread."""

import asyncio
from hashlib import sha256

import pytest
from django.conf import settings as configured

from accounts.keys.authentication import find_grant
from kit.http.errors import InvalidApiKey
from licensing.access.event_loop.lookup import AsyncKeys
from tests import factories
from tests.gateway.looking_up import close

pytestmark = pytest.mark.django_db(transaction=True)

if configured.DATABASES["default"]["ENGINE"].endswith("postgresql"):

    def test_keys_of_the_pepper_and_of_the_former_one_are_found_as_by_a_thread(account, settings):
        former = factories.key_text(account)
        deleted_key, deleted = factories.api_key(account)
        deleted_key.delete()
        settings.FORMER_PEPPERS = (sha256(b"long ago").digest(), settings.API_KEY_PEPPER)
        settings.API_KEY_PEPPER = sha256(b"another pepper").digest()
        current = factories.key_text(account)

        async def find():
            keys = AsyncKeys()
            try:
                return await keys.find([current, former, deleted, former])
            finally:
                close(keys)

        *found, unknown, again = asyncio.run(find())
        assert found == [find_grant(current), find_grant(former)]
        assert [grant.new_digest is None for grant in found] == [True, False]
        assert isinstance(unknown, InvalidApiKey)
        assert again == found[1]

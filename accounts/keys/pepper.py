"""Whether API_KEY_PEPPER is the one with which this database's keys were made.

With another pepper every key is refused and no stored secret can be opened, while everything else seems to work: after
a restore, or a deployment that lost its environment. So the database keeps a fingerprint of its pepper.
"""

from hmac import compare_digest

from django.conf import settings
from django.db import transaction

from accounts.keys.models import ApiKey, PepperFingerprint
from accounts.sealing import key_for


def fingerprint() -> str:
    """Return the fingerprint of the current pepper, in hex. The pepper cannot be computed from it."""
    return key_for("fingerprint", settings.API_KEY_PEPPER).hex()


def is_of_this_database() -> bool:
    """Whether the current pepper is the database's. A database without a pepper or keys adopts it."""
    known, _ = PepperFingerprint.objects.get_or_create(pk=1, defaults={"fingerprint": fingerprint()})
    if compare_digest(known.fingerprint, fingerprint()):
        return True
    if ApiKey.objects.exists():
        return False
    accept()
    return True


@transaction.atomic
def accept() -> int:
    """Make the current pepper the database's. Returns the number of keys that stop working if it is new."""
    PepperFingerprint.objects.update_or_create(pk=1, defaults={"fingerprint": fingerprint()})
    return ApiKey.objects.filter(revoked_at__isnull=True).count()

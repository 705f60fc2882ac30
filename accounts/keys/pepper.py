"""Whether API_KEY_PEPPER is the one with which this database's keys were made.

With another pepper every key is refused and no stored secret can be opened, while everything else seems to work: after
a restore, or a deployment that lost its environment. So the database keeps a fingerprint of its pepper.
"""

from hmac import compare_digest

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.keys.models import ApiKey, PepperFingerprint
from accounts.sealing import key_for, valid_peppers


def fingerprint(pepper: bytes | None = None) -> str:
    """Return the fingerprint of the pepper, by default the current one, in hex.

    The pepper cannot be computed from it.
    """
    return key_for("fingerprint", pepper or settings.API_KEY_PEPPER).hex()


def check_or_adopt_pepper() -> bool:
    """Whether the current or a former pepper is the database's. A database without a pepper or keys adopts it."""
    stored, _ = PepperFingerprint.objects.get_or_create(pk=1, defaults={"fingerprint": fingerprint()})
    if any(compare_digest(stored.fingerprint, fingerprint(pepper)) for pepper in valid_peppers()):
        return True
    if ApiKey.objects.exists():
        return False
    adopt_pepper()
    return True


@transaction.atomic
def adopt_pepper() -> int:
    """Make the current pepper the database's.

    Returns how many keys were made before that and not used since: their digests are those of a former pepper.
    """
    stored, _ = PepperFingerprint.objects.get_or_create(pk=1, defaults={"fingerprint": fingerprint()})
    if stored.fingerprint != fingerprint():
        stored.fingerprint = fingerprint()
        stored.created = timezone.now()
        stored.save()
    unused = Q(last_used_at=None) | Q(last_used_at__lt=stored.created)
    return ApiKey.objects.filter(unused, revoked_at=None, created_at__lt=stored.created).count()

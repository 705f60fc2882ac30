"""The second factor of a login: an authenticator app (TOTP) or a printed recovery code.

A code works once: the last step is stored and recovery codes are marked as used, each by an UPDATE that only one of
several concurrent attempts can win. The secret is encrypted and recovery codes are stored as digests, so the database
alone yields no code.
"""

import hmac
import secrets
from base64 import b32encode
from datetime import datetime

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.auditing import audit
from accounts.models import Authenticator, RecoveryCode
from accounts.sealing import sealer, valid_peppers
from operators.login import totp
from operators.login.audit_entries import AuditedOperator
from operators.login.session_store import end_sessions

PURPOSE = "authenticator"  # of the encryption key
RECOVERY_CODES = 10


def is_set_up(user: User | AnonymousUser) -> bool:
    return user.is_authenticated and Authenticator.objects.filter(user=user).exists()


@transaction.atomic
def set_up(user: User, secret: bytes, code: str, *, session_key: str | None = None) -> list[str] | None:
    """Set up the secret as the user's second factor if the code proves that the app has it.

    Ends the user's other sessions, which began with the password only; `session_key` names the one to keep. Returns
    new recovery codes, or None if the code is wrong.
    """
    step = totp.time_step(secret, code)
    if step is None:
        return None
    Authenticator.objects.update_or_create(
        user=user,
        defaults={"secret": sealer(PURPOSE).encrypt(secret), "last_step": step, "created": timezone.now()},
    )
    note_change(user, "on")
    end_sessions(user, keep=session_key)
    return new_recovery_codes(user)


def note_change(user: User, state: str) -> None:
    audit.record("operator.second_factor_changed", AuditedOperator(user), {}, {"secondFactor": state})


def new_recovery_codes(user: User) -> list[str]:
    """Replace the recovery codes by ten new ones and return them. Only their digests are stored."""
    codes = [b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES)]
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=code_digest(code)) for code in codes)
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]


def code_digest(code: str, pepper: bytes | None = None) -> bytes:
    return hmac.digest(pepper or settings.API_KEY_PEPPER, b"recovery-code:" + code.encode(), "sha256")


def unused_codes(user: User) -> QuerySet[RecoveryCode]:
    return RecoveryCode.objects.filter(user=user, used_at=None)


def accepts(user: User, code: str, now: datetime | None = None) -> bool:
    """Whether this is a valid app or recovery code. Uses it up."""
    code = "".join(code.split()).replace("-", "").lower()
    if code.isdecimal() and len(code) == totp.DIGITS:
        return accepts_of_app(user, code)
    if not code:
        return False
    digests = [code_digest(code, pepper) for pepper in valid_peppers()]
    return unused_codes(user).filter(digest__in=digests).update(used_at=now or timezone.now()) == 1


def accepts_of_app(user: User, code: str) -> bool:
    authenticator = Authenticator.objects.filter(user=user).first()
    if authenticator is None:
        return False
    try:
        secret = sealer(PURPOSE).decrypt(bytes(authenticator.secret))
    except InvalidToken:  # encrypted with another API_KEY_PEPPER
        return False
    step = totp.time_step(secret, code)
    if step is None:
        return False
    return Authenticator.objects.filter(pk=authenticator.pk, last_step__lt=step).update(last_step=step) == 1


@transaction.atomic
def reset(user: User) -> None:
    """Turn off another operator's second factor and end all of their sessions, including a lost phone's."""
    turn_off(user)
    end_sessions(user)


@transaction.atomic
def turn_off(user: User) -> None:
    """Turn the second factor off: the password alone then suffices."""
    if Authenticator.objects.filter(user=user).delete()[0]:
        note_change(user, "off")
    RecoveryCode.objects.filter(user=user).delete()

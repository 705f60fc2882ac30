from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.db.models import Model

from accounts.keys import pepper
from accounts.models import Authenticator, WebhookEndpoint
from accounts.sealing import sealer
from accounts.webhooks import secrets
from kit.commands import ServiceCommand
from licensing.access.tokens import signing
from licensing.access.tokens.models import SigningKey
from operators.login import second_factor

# Stored replies of idempotent requests are not listed: they expire within a day.
COLUMNS: list[tuple[type[Model], str, str]] = [
    (Authenticator, "secret", second_factor.PURPOSE),
    (SigningKey, "private", signing.PURPOSE),
    (WebhookEndpoint, "headers", secrets.PURPOSE),
    (WebhookEndpoint, "secrets", secrets.PURPOSE),
]


@transaction.atomic
def encrypt_anew() -> tuple[int, int]:
    """Encrypt every stored secret with the pepper. Returns their number, and of those that no pepper decrypts."""
    encrypted = unreadable = 0
    for model, column, purpose in COLUMNS:
        stored = model._default_manager.exclude(**{column: None}).select_for_update().values_list("pk", column)
        for pk, sealed in stored:
            try:
                reencrypted = sealer(purpose).rotate(bytes(sealed))
            except InvalidToken:
                unreadable += 1
                continue
            model._default_manager.filter(pk=pk).update(**{column: reencrypted})
            encrypted += 1
    return encrypted, unreadable


class Command(ServiceCommand):
    help = (
        "Makes a changed API_KEY_PEPPER the one of this database. What API_KEY_PEPPER_PREVIOUS encrypted is encrypted "
        "anew; secrets that no pepper decrypts become unusable."
    )

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        encrypted, unreadable = encrypt_anew()
        keys = pepper.adopt_pepper()
        sentence = (
            f"The service starts with this API_KEY_PEPPER. {encrypted} stored secrets are encrypted with it; "
            f"{unreadable} cannot be read and have to be set again. "
        )
        if settings.FORMER_PEPPERS and not keys:
            sentence += "All keys have been used with it: remove API_KEY_PEPPER_PREVIOUS."
        elif settings.FORMER_PEPPERS:
            sentence += f"{keys} keys have not been used with it. Keep API_KEY_PEPPER_PREVIOUS until they are."
        else:
            sentence += f"Keys made with another one ({keys} at most) are refused."
        result = {"object": "pepper", "accepted": True, "keys": keys, "encrypted": encrypted, "unreadable": unreadable}
        return sentence, result

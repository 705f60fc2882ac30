"""The columns with secrets that API_KEY_PEPPER encrypts, for a change of it. Stored replies end within a day."""

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.db.models import Model

from accounts.models import Authenticator, WebhookEndpoint
from accounts.sealing import sealer
from accounts.webhooks import secrets
from licensing.access.models import SigningKey
from licensing.access.tokens import signing
from operators.login import second_factor

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
                anew = sealer(purpose).rotate(bytes(sealed))
            except InvalidToken:
                unreadable += 1
                continue
            model._default_manager.filter(pk=pk).update(**{column: anew})
            encrypted += 1
    return encrypted, unreadable

"""Take credit back: what is left of something that was added to a wallet by mistake."""

from collections.abc import Sequence

from django import forms
from django.db import transaction
from django.utils import timezone

from analytics.wallets.models import Grant, Wallet
from analytics.wallets.services import void_grant
from analytics.wallets.stored_books import grants_as_of
from analytics.wallets.units import in_units
from operators.base.fields import Values, choice_field
from operators.base.forms.confirmation import Confirmation
from operators.base.times import time_in_words

EFFECTS = [
    "What is left of it leaves the wallet. What was spent of it stays spent.",
    "Payments and charges stay: void the payment, if one was recorded with it, or charge what a gift was credited.",
]


def open_grants(wallet: Wallet) -> list[Grant]:
    """Return the grants of which something is left, the newest first."""
    grants = wallet.grants.filter(ended_at=None).order_by("-created", "-pk")
    return [grant for grant in grants_as_of(wallet, grants, timezone.now()) if grant.remaining]


def grant_in_words(grant: Grant, wallet: Wallet) -> str:
    left, amount = in_units(grant.remaining, wallet.unit), in_units(grant.amount, wallet.unit)
    number = f", {grant.external_id}" if grant.external_id else ""
    return f"{left} left of {amount}, {grant.kind}, added on {time_in_words(grant.created)}{number}"


def taking_back(wallet: Wallet, grants: Sequence[Grant]) -> Confirmation:
    """Return the form that takes back one of the wallet's grants, of which there is at least one."""
    choices = [(grant.pk, grant_in_words(grant, wallet)) for grant in grants]

    @transaction.atomic
    def perform(fields: Values) -> None:
        void_grant(wallet, fields["grant"])

    return Confirmation(
        title=f"Take back credit of {wallet.requester}",
        effects=EFFECTS,
        button="Take it back",
        form=type("TakingBackForm", (forms.Form,), {"grant": choice_field("Credit", choices)}),
        perform=perform,
        done="What was left of it is taken back.",
    )

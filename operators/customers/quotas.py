"""A monthly quota, sold with a licence: the form's fields, the wallet that they open, and its description."""

from collections.abc import Mapping
from decimal import Decimal

from django import forms
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from msgspec import Struct

from analytics.models import Wallet
from analytics.wallets import services
from analytics.wallets.models import RefillPeriod
from analytics.wallets.serializers import WalletSerializer
from analytics.wallets.units import ACCESS, in_units
from kit.values import ids
from kit.values.currencies import in_full
from kit.values.decimals import plain
from kit.values.json_values import Validated
from kit.values.timestamps import render_timestamp
from licensing.access.charging.credits import license_key, paying_wallet
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester
from operators.base.fields import AmountField, CountField, choice_field, validate_fields
from operators.base.links import may_open, text_link, viewer

DENY, CHARGE = "deny", "charge"
AFTERWARDS = [(DENY, "denied until the next month"), (CHARGE, "charged the price per access")]
FIELDS = ("quota", "afterwards", "most_owed")
LARGEST_QUOTA = 1_000_000_000


class QuotaFields(forms.Form):
    """The quota of a new licence."""

    quota = CountField(
        required=False,
        min_value=1,
        max_value=LARGEST_QUOTA,
        label="Accesses a month",
        help_text="Counted from the licence's start. Unused ones expire. Empty: no quota.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    afterwards = choice_field("Further accesses are", AFTERWARDS, required=False)
    most_owed = AmountField(
        required=False,
        label="Until this is owed",
        help_text="In the currency per access. Once it is owed, further accesses are denied.",
    )

    def check_quota(self, cleaned: Mapping[str, object]) -> None:
        """Reject fields that make no sense together."""
        is_charged, most_owed = cleaned.get("afterwards") == CHARGE, cleaned.get("most_owed")
        if "quota" in self.errors or "quota" not in self.fields:
            return
        if cleaned.get("quota") is None:
            if is_charged or most_owed is not None:
                self.add_error("quota", "Enter how many accesses a month are included.")
            return
        if not is_charged and most_owed is not None:
            self.add_error("most_owed", "Only accesses that are charged can be owed. Leave it empty.")
        if is_charged and not cleaned.get("access_amount") and "access_amount" not in self.errors:
            self.add_error("access_amount", "Enter the price of a further access.")
        if is_charged and not most_owed and "most_owed" not in self.errors:
            self.add_error("most_owed", "Enter how much may be owed before accesses are denied.")


def count_here(account_id: str, fields: Validated) -> None:
    """Count the refill's days and months in the account's time zone; in the operator's while that is UTC."""
    if (refill := fields.get("refill")) is not None:
        refill["zone"] = services.own_zone(account_id) or timezone.get_current_timezone_name()


def wallet_in_words(wallet: Wallet) -> str:
    """Return text such as "9,000 accesses left, 10,000 accesses each month"."""
    left = f"{in_units(wallet.balance, wallet.unit)} left"
    if not wallet.refill_amount:
        return left
    return f"{left}, {refill_in_words(wallet)}"


def unused_refills(requester: Requester, template: str, ending: License | None = None) -> list[SafeString]:
    """Describe wallets that are refilled although no licence, or only the `ending` one, can spend their credit.

    `template` has the refill and a link to its terms.
    """
    if not requester.wallets or not may_open(Wallet):
        return []
    others = active_licenses(License.objects.filter(requester=requester.pk), timezone.now())
    if ending is not None:
        others = others.exclude(pk=ending.pk)
    is_used = Exists(others.filter(pk=OuterRef("license"))) | Q(Exists(others), license=None)
    wallets = Wallet.objects.filter(~is_used, requester=requester, next_refill_at__isnull=False)
    return [format_html(template, refill_in_words(wallet), link_to_terms(wallet)) for wallet in wallets.order_by("pk")]


def refill_in_words(wallet: Wallet) -> str:
    return f"{in_units(wallet.refill_amount or 0, wallet.unit)} each {wallet.refill_every}"


def changed_quota(before: License | None, saved: License) -> list[str]:
    """Say how many accesses a refill in money pays for, if a changed price per access changes that."""
    if before is None or not before.access_amount or not may_open(Wallet):
        return []
    key = paying_wallet(saved.requester.wallets or (), before.access_currency or "", license_key(saved.pk))
    wallet = None if key is None else Wallet.objects.filter(pk=ids.encode("wal", bytes.fromhex(key))).first()
    if wallet is None or not wallet.refill_amount:
        return []
    quota, former = refill_in_words(wallet), int(wallet.refill_amount / before.access_amount)
    if not saved.access_amount or saved.access_currency != wallet.unit:
        return [f"The quota of {quota} was {in_units(former, ACCESS)}. It pays for none of this licence any more."]
    accesses = int(wallet.refill_amount / saved.access_amount)
    if accesses == former:
        return []
    kept = in_units(former * saved.access_amount, wallet.unit)
    return [
        f"The quota of {quota} was {in_units(former, ACCESS)} and is {accesses:,} from now on. To keep {former:,}, "
        f"use Set a quota on the wallet's page: {kept}."
    ]


def link_to_terms(wallet: Wallet) -> SafeString | str:
    user = viewer.get()
    if user is not None and not user.has_perm("analytics.change_wallet"):
        return "set it to never"
    return text_link(reverse("admin:analytics_wallet_change_terms", args=[wallet.pk]), "set it to never")


class Quota(Struct, frozen=True):
    """A number of accesses per month. With a `price`, further ones are charged until `most_owed` is owed."""

    accesses: int
    price: Decimal = Decimal(0)
    currency: str = ""
    most_owed: Decimal = Decimal(0)

    @classmethod
    def from_fields(cls, fields: Validated) -> "Quota | None":
        """Return the quota in a form's values; None without one, or while its price is missing."""
        accesses = fields.get("quota")
        if not accesses or fields.get("afterwards") != CHARGE:
            return cls(accesses) if accesses else None
        price, currency = fields.get("access_amount"), fields.get("access_currency")
        return cls(accesses, price, currency, fields.get("most_owed") or Decimal(0)) if price and currency else None

    @classmethod
    def from_license(cls, held: License) -> "Quota | None":
        """Return the quota of a licence's own wallet; None if it has none that this form could have made."""
        monthly = Wallet.objects.filter(
            license=held, refill_every=RefillPeriod.MONTH, refill_amount__gt=0, rollover_max=0
        )
        wallet = monthly.filter(unit__in=[ACCESS, held.access_currency or ACCESS]).order_by("created", "pk").first()
        if wallet is None or wallet.refill_amount is None:
            return None
        if wallet.unit == ACCESS:
            return None if wallet.floor else cls(int(wallet.refill_amount))
        if not held.access_amount or wallet.refill_amount % held.access_amount or not wallet.floor:
            return None
        accesses = int(wallet.refill_amount / held.access_amount)
        return cls(accesses, held.access_amount, wallet.unit, -wallet.floor)

    @property
    def credit(self) -> Decimal:
        return self.accesses * self.price

    def as_fields(self) -> dict[str, object]:
        """Return the form's initial values."""
        if not self.price:
            return {"quota": self.accesses, "afterwards": DENY}
        return {"quota": self.accesses, "afterwards": CHARGE, "most_owed": self.most_owed}

    def open_wallet(self, issued: License) -> Wallet:
        """Open the licence's wallet, with the quota of the month that has begun. Raises ApiError."""
        in_money = bool(self.price)
        body = {
            "requesterId": issued.requester.requester_id,
            "licenseId": issued.pk,
            "unit": self.currency if in_money else ACCESS,
            "floor": plain(-self.most_owed),
            "refill": {
                "amount": plain(self.credit) if in_money else self.accesses,
                "every": str(RefillPeriod.MONTH),
                "anchor": render_timestamp(issued.starts_at),
            },
        }
        fields = validate_fields(WalletSerializer(), body)
        count_here(issued.account_id, fields)
        return services.create_wallet(issued.account_id, fields)

    def in_words(self) -> list[str]:
        count = f"{self.accesses:,} access{'' if self.accesses == 1 else 'es'} a month"
        if not self.price:
            return [
                f"{count}, counted from its start. Unused ones expire; further ones are denied until the next month."
            ]
        credit, owed = (in_full(one, self.currency) for one in (self.credit, self.most_owed))
        return [
            f"{count}: credit of {credit}, refilled each month, counted from its start. Unused credit expires.",
            f"The credit pays first. Then up to {owed} can be owed; after that, accesses are denied.",
            "A refill first pays what is owed. For a full quota, use Top up for what was paid before the refill.",
        ]

"""Top up a wallet: the credit and the payment for it are recorded together."""

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.plans import epochs
from analytics.ledger.services import adjust
from analytics.models import Payment
from analytics.payments.services import record_payment
from analytics.wallets import services
from analytics.wallets.models import Grant, GrantKind, Wallet
from analytics.wallets.serializers import GrantSerializer
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import ACCESS, UNITS, in_units
from kit.storage.reading import stored_now
from kit.values import ids
from kit.values.currencies import in_full
from kit.values.decimals import plain
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester
from operators.base.fields import (
    AmountField,
    CurrencyField,
    Values,
    as_json,
    choice_field,
    text_field,
    validate_fields,
)
from operators.base.forms.confirmation import Confirmation
from operators.base.forms.confirmed_form import FormConfirmation
from operators.base.tickets import TicketField
from operators.base.times import LocalDateTimeField, time_in_words
from operators.customers.arrears import top_up_warnings
from operators.customers.double_bookings import check_promise
from operators.customers.payment_help import VOID_NUMBER

RECORD, RECORDED, GIFT = "record", "recorded", "gift"
PAYMENTS = [
    (RECORD, "paid: record the payment, too"),
    (RECORDED, "paid: that is recorded already"),
    (GIFT, "a gift"),
]
GIFT_TEXT = "Gift of credit"  # describes the credit note
CHARGED_TOO = (
    "each access spends one access and is charged, too. Once none is left, they are denied. If the accesses are paid "
    "for, remove the licence's price per access first."
)
EFFECTS = ["The credit applies at once.", "A payment that is recorded is on this month's statement."]


class TopUpForm(forms.Form):
    """A top-up of one of the wallets, or of a new one in the unit that is chosen."""

    ticket = TicketField(Grant)
    wallet = choice_field("Credit in", [])
    amount = AmountField(label="Amount", help_text="The credit: money, or a number of accesses.")
    payment = choice_field("It is", PAYMENTS)
    price = AmountField(
        required=False,
        label="Paid for accesses",
        help_text="What the customer paid for a number of accesses. Empty for credit in money.",
    )
    currency = CurrencyField(required=False, label="Currency of what was paid")
    expires_at = LocalDateTimeField(ends=True, label="Ends at", help_text="Empty: never.")
    external_id = text_field(
        "Your own number",
        "Number of the order, invoice or transfer. The same number is added only once.",
        required=False,
    )

    wallets: dict[str, Wallet]
    may_charge: bool

    def clean(self) -> None:
        """Ask for a price where one is needed, and only there. A gift of money needs the right to record charges."""
        super().clean()
        cleaned = self.cleaned_data
        wallet = self.wallets.get(cleaned.get("wallet") or "")
        unit = wallet.unit if wallet else cleaned.get("wallet")
        if is_gift_of_money(cleaned.get("payment"), unit) and not self.may_charge:
            self.add_error("payment", "A gift of money is a credit note, too. Your role does not include those.")
        needs_price = unit == ACCESS and cleaned.get("payment") == RECORD
        if needs_price and not cleaned.get("price"):
            self.add_error("price", "Enter what was paid for the accesses, or choose that it is recorded already.")
        elif needs_price and not cleaned.get("currency"):
            self.add_error("currency", "Choose the currency of what was paid.")
        elif cleaned.get("price") and not needs_price:
            self.add_error("price", "Only accesses that are paid for now have a price. Leave it empty.")


def top_up_confirmation(
    request: HttpRequest, requester: Requester, wallets: QuerySet[Wallet], *, opens_wallets: bool
) -> Confirmation:
    """Return the form. With `opens_wallets` it offers new wallets, too."""
    books = as_of(wallets.select_related("license").order_by("created", "pk"), timezone.now())
    by_value = {form_value(book.wallet): book.wallet for book in books}
    holder = requester.current
    may_record = request.user.has_perm("analytics.add_payment")
    may_charge = request.user.has_perm("analytics.add_ledgerentry")
    charged = charged_currencies(holder)

    def perform(fields: Values) -> str:
        return top_up(request, holder, by_value.get(fields["wallet"]), fields)

    def form_confirmation(fields: Values) -> FormConfirmation:
        return build_form_confirmation(holder, by_value.get(fields["wallet"]), fields, charged)

    return Confirmation(
        title=f"Top up {holder}",
        facts=[
            (wallet_name(wallet), f"{in_units(wallet.available, wallet.unit)} left") for wallet in by_value.values()
        ],
        effects=EFFECTS,
        button="Top up",
        form=form_class(holder, by_value, opens_wallets, may_record=may_record, may_charge=may_charge),
        initial={
            "wallet": next(iter(by_value), next(iter(charged), holder.account.currency)),
            "payment": RECORD if may_record else RECORDED,
            "currency": holder.account.currency,
        },
        perform=perform,
        form_confirmation=form_confirmation,
    )


def charged_currencies(holder: Requester) -> list[str]:
    """Return the currencies in which the customer's running licences charge accesses."""
    licenses = active_licenses(License.objects.filter(requester=holder), timezone.now())
    return sorted({currency for currency in licenses.values_list("access_currency", flat=True) if currency})


def form_class(
    holder: Requester, wallets: dict[str, Wallet], opens_wallets: bool, *, may_record: bool, may_charge: bool
) -> type[TopUpForm]:
    """Return the form with the wallets to choose from. Without `may_record` no payment can be recorded."""
    choices: list[tuple[str, object]] = [(value, wallet_name(wallet)) for value, wallet in wallets.items()]
    if opens_wallets:
        units = dict.fromkeys([holder.account.currency, ACCESS, *UNITS])
        choices.append(("New wallet", [(unit, unit_name(unit)) for unit in units if unit not in wallets]))
    fields: dict[str, forms.Field] = {"wallet": choice_field("Credit in", choices)}
    if not may_record:
        fields["payment"] = choice_field("It is", PAYMENTS[1:])
    return type("TopUpForm", (TopUpForm,), {**fields, "wallets": wallets, "may_charge": may_charge})


def build_form_confirmation(
    holder: Requester, wallet: Wallet | None, fields: Values, charged: list[str]
) -> FormConfirmation:
    """Ask about what the filled-in form adds and records. `charged` are the currencies of the customer's licences."""
    unit = wallet.unit if wallet else fields["wallet"]
    added = in_units(fields["amount"], unit)
    warnings = top_up_warnings(holder, unit) if wallet is None else []
    if wallet and wallet.license:
        charged = [currency for currency in (wallet.license.access_currency,) if currency]
    if charged and unit not in charged:
        effect = CHARGED_TOO if unit == ACCESS else f"credit in {unit} does not pay them."
        warnings = [f"Licences of {holder} charge accesses in {', '.join(charged)}: {effect}"]
    mend = "Void the payment, or the grant, to take it back."
    if is_gift_of_money(fields["payment"], unit):
        payment = f"A credit note of {added} is recorded, so that {holder} does not owe what it spends of the gift."
        mend = f"To undo it, use Take back on the wallet's page, and charge {added}."
    elif fields["payment"] != RECORD:
        payment = "No payment is recorded."
        if unit != ACCESS:
            payment += f" {holder} is charged for what it spends, in addition to its licence's price."
        mend = "Take back on the wallet's page undoes it."
    elif is_recorded(holder, fields["external_id"]):
        payment = f"The payment {fields['external_id']} was recorded before: no other one is."
        if unit != ACCESS:
            payment += f" {holder} is charged for what it spends."
    elif unit == ACCESS:
        price = in_full(fields["price"], fields["currency"])
        payment = f"A payment of {price} is recorded as paid for credit. What {holder} owes does not change. "
        payment += "It is no revenue: a licence's price and Charge are."
    else:
        payment = f"A payment of {added} is recorded. {holder} owes that much less, and is charged for what it spends."
    return FormConfirmation(
        title=f"Add {added} for {holder}?",
        facts=[
            ("Wallet", wallet_name(wallet) if wallet else f"{unit_name(unit)}: a new one"),
            ("It is", dict(PAYMENTS)[fields["payment"]]),
            ("Ends", time_in_words(fields["expires_at"]) if fields["expires_at"] else "never"),
            ("Your own number", fields["external_id"] or "–"),
        ],
        effects=["The credit applies at once.", payment, mend],
        button="Add it",
        warnings=warnings,
        promised_at=stored_now(),
    )


def is_gift_of_money(payment: str | None, unit: str | None) -> bool:
    """Whether a credit note has to settle what is spent of the credit."""
    return payment == GIFT and unit != ACCESS


def is_recorded(holder: Requester, number: str) -> bool:
    """Whether a payment has the number. The one that the form describes was tried before: it is the same."""
    return bool(number) and Payment.objects.filter(account=holder.account_id, external_id=number).exists()


def unit_name(unit: str) -> str:
    return "accesses" if unit == ACCESS else unit


def form_value(wallet: Wallet) -> str:
    """Return the unit, before and after the customer's own wallet is opened; otherwise the id."""
    return wallet.pk if wallet.license_id else wallet.unit


def wallet_name(wallet: Wallet) -> str:
    name = unit_name(wallet.unit)
    return f"{name}, only for the licence {wallet.license}" if wallet.license else name


@transaction.atomic
def top_up(request: HttpRequest, holder: Requester, wallet: Wallet | None, fields: Values) -> str:
    """Add the credit and record the payment; return what was done. Opens the wallet if there is none in the unit.

    Raises ApiError, and ValidationError if the balance changed meanwhile or the number was added before or is void.
    """
    epochs.lock_epoch(holder.account_id)  # before wallets and customers, as merges do
    wallet = wallet or wallet_in(holder, fields["wallet"])
    body: dict[str, object] = {
        "amount": plain(fields["amount"]),
        "kind": GrantKind.PROMOTIONAL if fields["payment"] == GIFT else GrantKind.PAID,
    }
    if fields["expires_at"]:
        body["expiresAt"] = as_json(fields["expires_at"])
    payment_id = ids.new_id("pay")
    records_payment = fields["payment"] == RECORD
    if fields["external_id"] or records_payment:
        body["externalId"] = fields["external_id"] or payment_id  # by which a void finds the credit
    if fields["price"] is not None:
        body["paid"] = {"amount": plain(fields["price"]), "currency": fields["currency"]}
    checked = {**validate_fields(GrantSerializer(), body), "id": fields["ticket"]}
    price = checked.pop("paid", None)  # recorded below, with its number
    grant, is_new = services.add_grant(wallet, checked)
    added = in_units(grant.amount, wallet.unit)
    if not is_new and grant.pk == fields["ticket"]:
        return f"The form was sent twice. {added} added, once."
    if not is_new:
        known = f"{fields['external_id']} was added before, with {added}. Nothing is added now."
        raise ValidationError({"external_id": known})
    if is_gift_of_money(fields["payment"], wallet.unit):
        check_promise(request, holder, wallet.unit, stored_now())
        note = {"amount": -grant.amount, "currency": wallet.unit, "description": GIFT_TEXT}
        adjust(wallet.account_id, {**note, "requester_id": holder.requester_id})
        return f"{added} added, and a credit note of {added} recorded."
    if not records_payment:
        return f"{added} added."
    paid = price or {"amount": grant.amount, "currency": wallet.unit}
    check_promise(request, holder, paid["currency"], stored_now())
    payment = {
        **paid,
        "id": payment_id,
        "requester_id": holder.requester_id,
        "external_id": fields["external_id"] or None,
        "grant": grant if price else None,  # credit that no charge stands for
    }
    recorded, is_new_payment = record_payment(wallet.account_id, payment)
    if recorded.voided_at is not None:
        raise ValidationError({"external_id": VOID_NUMBER})
    if is_new_payment:
        return f"{added} added, and a payment of {in_full(paid['amount'], paid['currency'])} recorded."
    return f"{added} added. The payment {grant.external_id} was recorded before."


def wallet_in(holder: Requester, unit: str) -> Wallet:
    """Return the customer's wallet in the unit, which is opened if there is none."""
    wallet = Wallet.objects.filter(requester=holder, license=None, unit=unit).first()
    if wallet is not None:
        return wallet
    return services.create_wallet(holder.account_id, {"requester_id": holder.requester_id, "unit": unit})

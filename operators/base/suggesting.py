"""Fields with suggestions while typing (operators.suggestions, operators/suggest.js), and currencies to choose."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import date, timedelta
from enum import StrEnum
from typing import ClassVar

from django import forms
from django.db.models import Count, Value
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from analytics.models import ExchangeRate, RecentRevenue, TierRevenue
from analytics.rates.conversion import EURO, MAX_AGE
from kit.values.currencies import CURRENCIES
from operators.base.fields import CurrencyField
from operators.base.mixins import AdminMixin, ModelT
from operators.base.scope import chosen_account_id, request_scope

RECENT_PERIOD = timedelta(days=90)
SCRIPT = "operators/suggest.js"
MAX_ACCOUNTS = 200  # whose words and currencies are suggested


def booked_and_convertible_currencies(account_ids: Sequence[str], today: date) -> tuple[list[str], list[str]]:
    """Return the currencies of the last 90 days, most frequent first, and others with an exchange rate today.

    One query: the number of each currency's daily totals and of entries not yet added to them, and 0 for each rate.
    """
    recent = TierRevenue.objects.filter(account_id__in=account_ids, day__range=(today - RECENT_PERIOD, today))
    pending = RecentRevenue.objects.filter(account_id__in=account_ids)
    rates = ExchangeRate.objects.filter(currency__in=CURRENCIES, day__range=(today - MAX_AGE, today))
    rows = recent.order_by().values_list("currency").annotate(days=Count("pk"))
    rows = rows.union(
        pending.order_by().values_list("currency").annotate(days=Count("pk")),
        rates.order_by().values_list("currency", Value(0)).distinct(),
        all=True,
    )
    days = Counter[str]()
    for currency, number in rows:
        days[currency] += number
    booked = sorted(+days, key=lambda currency: (-days[currency], currency))
    rated = days.keys() - booked
    if rated:
        rated.add(EURO)
    return booked, sorted(rated)


class SuggestionKind(StrEnum):
    """What a field suggests."""

    ITEM = "item"
    POLICY = "policy"
    LICENSE = "license"
    REQUESTER = "requester"
    CUSTOMER = "customer"  # a requester who may be new
    TAG = "tag"
    LICENSE_TYPE = "license_type"
    PERMISSION = "permission"


def with_suggestions(
    fields: Mapping[str, forms.Field], kinds: Mapping[str, SuggestionKind], account_id: str | None = None
) -> dict[str, forms.Field]:
    """Return copies of the fields named in `kinds`, with suggestions.

    The suggestions are for `account_id`, or for the current value of the form's field `account`.
    """
    suggested = {}
    for name in kinds.keys() & fields.keys():
        suggested[name] = field = deepcopy(fields[name])
        field.widget.attrs["data-suggest"] = f"{reverse('admin:suggest')}?kind={kinds[name]}"
        if account_id is not None:
            field.widget.attrs["data-account"] = account_id
    return suggested


class SuggestingAdmin(AdminMixin[ModelT]):
    """A mixin for ModelAdmins whose form has a field `account`, or whose object belongs to an account."""

    suggested: ClassVar[Mapping[str, SuggestionKind]] = {}

    @property
    def media(self) -> forms.Media:
        """Add the script; a `class Media` here would be hidden by that of a subclass."""
        return super().media + forms.Media(js=[SCRIPT])

    def get_form(
        self, request: HttpRequest, obj: ModelT | None = None, change: bool = False, **kwargs: object
    ) -> type[forms.ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        account_id: str | None = getattr(obj, "account_id", None)
        form.base_fields |= with_suggestions(form.base_fields, self.suggested, account_id)
        money = {name: field for name, field in form.base_fields.items() if isinstance(field, CurrencyField)}
        if money:
            accounts = [account_id] if account_id else offered_account_ids(request)
            booked, _ = booked_and_convertible_currencies(accounts, timezone.now().date())
            choices: list[tuple[str, object]] = [("", "–")]
            others = [(code, code) for code in CURRENCIES if code not in booked]
            if booked:
                choices += [("Booked before", [(code, code) for code in booked]), ("Others", others)]
            else:
                choices += others
            for name, field in money.items():
                form.base_fields[name] = own_field = deepcopy(field)
                own_field.choices = choices
        return form


def offered_account_ids(request: HttpRequest) -> list[str]:
    """Return the accounts of a new object: the chosen one, or the first that the operator may see."""
    if chosen := chosen_account_id(request):
        return [chosen]
    return list(request_scope(request).accounts().values_list("pk", flat=True)[:MAX_ACCOUNTS])

"""Forms of an account: its settings, its plan and its deletion."""

from django import forms

from accounts.models import Account, Plan, Unknown
from kit.values.currencies import CURRENCIES
from operators.base.mixins import ServiceForm
from operators.base.times import zone_choices

LIMITS_HELP = "Only for the enterprise plan; other plans have fixed limits."
EDGE_HELP = "Only for the enterprise plan. Empty: ten times the requests above. Nothing is refused beyond it."
EDGE_FIELDS = ("edge_requests_per_minute", "edge_requests_per_day")
SETTINGS = ("time_zone", "currency", "unlisted_signers", "unknown_host", "visitor_addresses")


class AccountForm(ServiceForm):
    time_zone = forms.ChoiceField(
        choices=zone_choices,
        initial="UTC",
        help_text="Months of refills begin by its clock. Those that have begun do not move.",
    )
    currency = forms.ChoiceField(
        choices=[(code, code) for code in CURRENCIES],
        initial="USD",
        help_text="The account's own currency.",
    )
    unknown_host = forms.ChoiceField(
        label="Hosts without a site",
        initial=Unknown.ALLOW.value,
        choices=Unknown.choices,
        help_text="Whether visitors are let in at hosts that the account has no site for.",
    )

    class Meta:
        model = Account
        fields = ("name", *SETTINGS)


def limit_field(help_text: str) -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, help_text=help_text)


class PlanForm(forms.Form):
    plan = forms.ChoiceField(choices=Plan.choices)
    requests_per_minute = limit_field(LIMITS_HELP)
    requests_per_day = limit_field(LIMITS_HELP)
    edge_requests_per_minute = limit_field(EDGE_HELP)
    edge_requests_per_day = limit_field(EDGE_HELP)

"""The revenue report in the API."""

from decimal import Decimal

from orjson import Fragment
from rest_framework import serializers

from analytics.revenue.report import Earner, RevenueReport
from analytics.windows import Window
from kit.rest.fields import Id
from kit.rest.money import Amount
from kit.values.currencies import round_half_even, round_to_minor_unit
from kit.values.decimals import render_amount

HUNDREDTH = Decimal("0.01")


class RevenueSummary(serializers.Serializer):
    total = Amount()
    currency = serializers.CharField()
    changePercent = Amount(
        allow_null=True, help_text="Change from the preceding window of equal length. Null if that total was 0."
    )
    projectedMonthly = Amount(help_text="`total` ÷ elapsed days × 30.")


class RevenueBucket(serializers.Serializer):
    date = serializers.DateField(
        help_text="First day of the bucket: the day, the Monday of the week or the first of the month."
    )
    revenue = Amount()


class EarningContent(serializers.Serializer):
    id = Id("cnt")
    title = serializers.CharField(help_text="The title, even of a deleted item.")
    revenue = Amount()


TIERS = (
    "By licence type; `other` is what belongs to none. Where a licence type is called `other`, that has the name, and "
    "what belongs to none is under the empty one."
)


class PayingRequester(serializers.Serializer):
    id = serializers.CharField(help_text="The requester's id as the caller gives it.")
    name = serializers.CharField(allow_null=True)
    revenue = Amount()


class BookedAmount(serializers.Serializer):
    currency = serializers.CharField()
    amount = Amount(help_text="As booked: neither converted nor rounded.")


class UnconvertedAmount(BookedAmount):
    entries = serializers.IntegerField(min_value=0, help_text="Number of ledger entries.")


class RevenueReportSerializer(serializers.Serializer):
    """Amounts are in the summary's currency, each rounded separately (half to even) to its minor unit.

    `byCurrency` and `unconverted` have exact amounts as booked.
    """

    summary = RevenueSummary()
    timeSeries = RevenueBucket(many=True, help_text="All buckets of the window, oldest first, including empty ones.")
    byLicenseType = serializers.DictField(child=Amount(), help_text=TIERS)
    byRequester = PayingRequester(many=True, help_text="At most `top`, by revenue, then by id.")
    byContent = EarningContent(many=True, help_text="At most `top`, by revenue, then by id.")
    byCurrency = BookedAmount(many=True, help_text="All entries, by the currency in which they were booked.")
    unconverted = UnconvertedAmount(
        many=True, help_text="Entries without an exchange rate. All figures except `byCurrency` leave them out."
    )


def present(report: RevenueReport, window: Window) -> dict[str, object]:
    def shown(amount: Decimal) -> Fragment:
        return render_amount(round_to_minor_unit(amount, report.currency))

    def earners(ranked: list[Earner], name: str) -> list[dict[str, object]]:
        return [{"id": one.id, name: one.name, "revenue": shown(one.revenue)} for one in ranked]

    change = report.change_percent
    return {
        "summary": {
            "total": shown(report.total),
            "currency": report.currency,
            "changePercent": None if change is None else render_amount(round_half_even(change, HUNDREDTH)),
            "projectedMonthly": shown(report.projected_monthly),
        },
        "timeSeries": [{"date": window.label(bucket), "revenue": shown(amount)} for bucket, amount in report.series],
        "byLicenseType": {name: shown(amount) for name, amount in report.by_license_type.items()},
        "byRequester": earners(report.by_requester, "name"),
        "byContent": earners(report.by_content, "title"),
        "byCurrency": [
            {"currency": code, "amount": render_amount(amount)} for code, amount in report.by_currency.items()
        ],
        "unconverted": [
            {"currency": left_out.currency, "amount": render_amount(left_out.amount), "entries": left_out.entries}
            for left_out in report.unconverted
        ],
    }

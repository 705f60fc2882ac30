"""The figures of both reports by the service's functions, called as the endpoints do."""

from datetime import datetime

from analytics import windows
from analytics.revenue.report import first_entry, revenue_report
from analytics.usage import report as usage
from analytics.windows import Window
from benchmarks.reports.plain import Figures
from benchmarks.reports.year import DOLLAR


def usage_window(account: str, period: str, now: datetime) -> Window:
    return windows.USAGE.parse({"period": period}, now, lambda: usage.first_event([account]))


def revenue_window(account: str, period: str, now: datetime) -> Window:
    return windows.REVENUE.parse({"period": period}, now, lambda: first_entry([account]))


def usage_figures(account: str, window: Window) -> Figures:
    report = usage.usage_report([account], window)
    summary = ("totalRequests", "allowed", "uniqueRequesters", "uniqueContent")
    return {
        "summary": tuple(report["summary"][name] for name in summary),
        "series": [(one["date"], one["requests"], one["allowed"]) for one in report["timeSeries"] if one["requests"]],
        "content": [one["requests"] for one in report["topContent"]],
        "requesters": [one["requests"] for one in report["topRequesters"]],
        "reasons": [(one["reason"], one["count"]) for one in report["byDenialReason"]],
    }


def revenue_figures(account: str, window: Window, now: datetime) -> Figures:
    report = revenue_report([account], window, DOLLAR, now)
    return {
        "total": report.total,
        "before": report.before,
        "series": [(f"{day:%Y-%m-%d}", amount) for day, amount in report.series if amount],
        "tiers": sorted(report.by_license_type.items()),
        "requesters": [one.revenue for one in report.by_requester],
        "content": [one.revenue for one in report.by_content],
    }

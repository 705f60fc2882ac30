"""Options that create_account and change_account share."""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from accounts.plans.models import Plan, Unknown, UnlistedSigners, VisitorAddresses

LIMITS = ("requests_per_minute", "requests_per_day", "edge_requests_per_minute", "edge_requests_per_day")
SETTINGS = ("unlisted_signers", "unknown_host", "visitor_addresses", "time_zone", "currency")
ENTERPRISE_LIMITS = ("requests_per_minute", "requests_per_day")  # by the enterprise plan


def add_limits(parser: CommandParser) -> None:
    parser.add_argument("--requests-per-minute", type=int, help="For the enterprise plan.")
    parser.add_argument("--requests-per-day", type=int, help="For the enterprise plan.")
    parser.add_argument(
        "--edge-requests-per-minute",
        type=int,
        help="For the enterprise plan; default: ten times --requests-per-minute.",
    )
    parser.add_argument(
        "--edge-requests-per-day", type=int, help="For the enterprise plan; default: ten times --requests-per-day."
    )


def add_settings(parser: CommandParser) -> None:
    parser.add_argument(
        "--unlisted-signers",
        choices=UnlistedSigners.values,
        help="Whether signers that the table of crawlers does not list can pay at the edge; default: deny.",
    )
    parser.add_argument(
        "--unknown-host",
        choices=Unknown.values,
        help="Whether the edge lets visitors in at hosts without a site; default: allow.",
    )
    parser.add_argument(
        "--visitor-addresses",
        choices=VisitorAddresses.values,
        help="How addresses of people are stored: truncated to /24 (IPv6: /48), or full; default: truncated.",
    )
    parser.add_argument("--time-zone", help="Of its months and days, such as Europe/Berlin; default: UTC.")
    parser.add_argument("--currency", help="The account's own currency, such as EUR; default: USD.")


def check_limits(plan: str, limits: Mapping[str, object]) -> None:
    """Check the limits, by their names in the model, against the plan. Raises ValidationError naming the options."""
    given_options = [option_name(name) for name, number in limits.items() if number is not None]
    if plan == Plan.ENTERPRISE:
        missing = [option_name(name) for name in ENTERPRISE_LIMITS if limits[name] is None]
        if missing:
            raise ValidationError(f"The enterprise plan needs limits of its own: add {' and '.join(missing)}.")
    elif given_options:
        raise ValidationError(f"{' and '.join(given_options)}: only --plan enterprise has limits of its own.")


def option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"

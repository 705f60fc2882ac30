"""Usage figures."""

from django.db.models import Sum

from analytics.models import ContentYear


def content_stats(account_id: str, content_id: str) -> dict[str, int]:
    """`stats` of an item: every decision that was answered for it."""
    years = ContentYear.objects.filter(account_id=account_id, content_id=content_id)
    sums = years.aggregate(requests=Sum("requests", default=0), allowed=Sum("allowed", default=0))
    return {
        "totalRequests": sums["requests"],
        "allowedRequests": sums["allowed"],
        "deniedRequests": sums["requests"] - sums["allowed"],
    }

"""Usage figures."""

from analytics.models import ContentUsage


def content_stats(content_id: str) -> dict[str, int]:
    """`stats` of an item: every decision that was answered for it."""
    usage = ContentUsage.objects.filter(content_id=content_id).first() or ContentUsage(requests=0, allowed=0)
    return {
        "totalRequests": usage.requests,
        "allowedRequests": usage.allowed,
        "deniedRequests": usage.requests - usage.allowed,
    }

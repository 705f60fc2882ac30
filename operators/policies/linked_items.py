"""What the pages of policies have in common."""

from django.db.models import QuerySet

from licensing.content.models import Content
from licensing.policies.models import Policy


def items_of(policy: Policy) -> QuerySet[Content]:
    """The items that link to the policy."""
    return Content.objects.of(policy.account_id).filter(policy_id=policy.pk)


def items_sentence(number: int) -> str:
    if number == 0:
        return "No item links to it"
    return "1 item links to it" if number == 1 else f"{number:,} items link to it"

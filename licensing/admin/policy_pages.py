"""What the pages of policies have in common."""

from django.contrib import admin
from django.db.models import QuerySet

from accounts.operators.links import list_url
from licensing.models import Content, Policy


def items_of(policy: Policy) -> QuerySet[Content]:
    """The items that link to the policy."""
    return Content.objects.of(policy.account_id).filter(policy_id=policy.pk)


def items_sentence(number: int) -> str:
    if number == 0:
        return "No item links to it"
    return "1 item links to it" if number == 1 else f"{number:,} items link to it"


def content_list_url(policy: Policy) -> str | None:
    """The list of its items, where the admin shows content."""
    return list_url(Content, policy__id__exact=policy.pk) if admin.site.is_registered(Content) else None

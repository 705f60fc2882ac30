"""The items and sites that use a policy, in words and links."""

from django.db.models import QuerySet
from django.utils.html import format_html

from licensing.content.models import Content
from licensing.policies.models import Policy
from operators.base.links import list_url


def items_of(policy: Policy) -> QuerySet[Content]:
    """Return the items linked to the policy."""
    return Content.objects.of(policy.account_id).filter(policy_id=policy.pk)


def sites_of(policy: Policy) -> list[str]:
    """Return the hosts of the sites whose rules name the policy."""
    return sorted(set(policy.site_rules.values_list("site__host", flat=True)))


def items_sentence(number: int) -> str:
    if number == 0:
        return "No item links to it"
    return "1 item links to it" if number == 1 else f"{number:,} items link to it"


def items_linked(policy: Policy, number: int) -> str:
    """Return the sentence with a link to the items."""
    if number == 0:
        return items_sentence(number)
    address = list_url(Content, policy__id__exact=policy.pk)
    return format_html('<a class="text-link" href="{}">{}</a>', address, items_sentence(number))

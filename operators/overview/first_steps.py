"""Next steps for operators without decisions."""

from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct

from accounts.models import ApiKey
from analytics.models import HourlyUsage, RecentUsage
from licensing.content.models import Content
from licensing.policies.models import Policy
from operators.base.figures.choice import Choice


class Step(Struct, frozen=True):
    """A step; `link` is empty without the permission."""

    title: str
    why: str
    done: bool
    link: str


# Title, reason, page in the admin, permission.
STEPS = (
    ("Make an account", "It is one publisher, and owns everything below.", "accounts_account", "add_account"),
    ("Make an API key", "Programs use it to call the service.", "accounts_apikey", "add_apikey"),
    ("Write a policy", "Its rules say who may access what.", "licensing_policy", "add_policy"),
    ("Add content", "Link it to the policy. Items without a policy are denied.", "licensing_content", "add_content"),
)


def first_steps(request: HttpRequest, choice: Choice) -> list[Step] | None:
    """Return the steps, or None once there are decisions."""
    # in this order, because rows move from the first to the second
    if exists(RecentUsage, choice) or exists(HourlyUsage, choice):
        return None
    done = [bool(choice.accounts), *(exists(model, choice) for model in (ApiKey, Policy, Content))]
    steps = [
        Step(title, why, is_done, link_to(request, page, permission))
        for (title, why, page, permission), is_done in zip(STEPS, done, strict=True)
    ]
    last = Step(
        "Check access",
        "Send POST /v1/access/check with the key. Then this page shows figures.",
        False,
        "/docs/start/quickstart/",
    )
    return [*steps, last]


def exists(model: type[Model], choice: Choice) -> bool:
    """Whether any of the accounts has one. One query: per account, PostgreSQL might read the whole table."""
    return bool(choice.accounts) and model._default_manager.filter(account_id__in=choice.account_ids).exists()


def link_to(request: HttpRequest, page: str, permission: str) -> str:
    app, _ = page.split("_")
    if permission == "add_account" and not request.user.is_superuser:
        return ""  # others would not see the new account
    return reverse(f"admin:{page}_add") if request.user.has_perm(f"{app}.{permission}") else ""

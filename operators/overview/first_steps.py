"""The steps that the overview page shows until there are decisions."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from accounts.models import Account, ApiKey
from analytics.models import HourlyUsage, RecentUsage
from licensing.content.models import Content
from licensing.policies.models import Policy
from operators.base.figures.choice import FigureSelection

STEPS: dict[type[Model], tuple[str, str]] = {  # what each step makes; its title and reason
    Account: ("Make an account", "It is one publisher, and owns everything below."),
    ApiKey: ("Make an API key", "Programs use it to call the service."),
    Policy: ("Write a policy", "Its rules say who may access what."),
    Content: ("Add content", "Link it to the policy. Items without a policy are denied."),
}


def first_steps(request: HttpRequest, choice: FigureSelection) -> list[dict[str, object]] | None:
    """Return the steps, or None once there are decisions. The link of a step is empty without the permission."""
    # in this order, because rows move from the first to the second
    if accounts_have(RecentUsage, choice) or accounts_have(HourlyUsage, choice):
        return None
    steps: list[dict[str, object]] = []
    for model, (title, why) in STEPS.items():
        done = bool(choice.accounts) if model is Account else accounts_have(model, choice)
        model_admin = admin.site._registry[model]
        link = ""
        if model_admin.has_add_permission(request):
            link = reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_add")
        steps.append({"title": title, "why": why, "done": done, "link": link})
    check = "Send POST /v1/access/check with the key. Then this page shows figures."
    steps.append({"title": "Check access", "why": check, "done": False, "link": "/docs/start/quickstart/"})
    return steps


def accounts_have(model: type[Model], choice: FigureSelection) -> bool:
    """Whether any of the accounts has one. One query: per account, PostgreSQL might read the whole table."""
    return bool(choice.accounts) and model._default_manager.filter(account_id__in=choice.account_ids).exists()

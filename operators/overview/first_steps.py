"""The steps that the overview page shows until there are decisions."""

from typing import NamedTuple

from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct

from accounts.models import ApiKey
from analytics.models import HourlyUsage, RecentUsage
from licensing.content.models import Content
from licensing.policies.models import Policy
from operators.base.figures.choice import Choice


class FirstStep(NamedTuple):
    """A step that creates an object. `page` names its model in the admin's URLs."""

    title: str
    why: str
    page: str
    permission: str


ACCOUNT = FirstStep(
    "Make an account", "It is one publisher, and owns everything below.", "accounts_account", "add_account"
)
KEY = FirstStep("Make an API key", "Programs use it to call the service.", "accounts_apikey", "add_apikey")
POLICY = FirstStep("Write a policy", "Its rules say who may access what.", "licensing_policy", "add_policy")
CONTENT = FirstStep(
    "Add content", "Link it to the policy. Items without a policy are denied.", "licensing_content", "add_content"
)


class Step(Struct, frozen=True):
    """A step as shown; `link` is empty without the permission."""

    title: str
    why: str
    done: bool
    link: str


def first_steps(request: HttpRequest, choice: Choice) -> list[Step] | None:
    """Return the steps, or None once there are decisions."""
    # in this order, because rows move from the first to the second
    if exists(RecentUsage, choice) or exists(HourlyUsage, choice):
        return None
    return [
        build_step(request, ACCOUNT, done=bool(choice.accounts)),
        build_step(request, KEY, done=exists(ApiKey, choice)),
        build_step(request, POLICY, done=exists(Policy, choice)),
        build_step(request, CONTENT, done=exists(Content, choice)),
        Step(
            "Check access",
            "Send POST /v1/access/check with the key. Then this page shows figures.",
            False,
            "/docs/start/quickstart/",
        ),
    ]


def build_step(request: HttpRequest, step: FirstStep, *, done: bool) -> Step:
    return Step(step.title, step.why, done, link_to(request, step))


def exists(model: type[Model], choice: Choice) -> bool:
    """Whether any of the accounts has one. One query: per account, PostgreSQL might read the whole table."""
    return bool(choice.accounts) and model._default_manager.filter(account_id__in=choice.account_ids).exists()


def link_to(request: HttpRequest, step: FirstStep) -> str:
    app, _ = step.page.split("_")
    if step.permission == "add_account" and not request.user.is_superuser:
        return ""  # others would not see the new account
    if not request.user.has_perm(f"{app}.{step.permission}"):
        return ""
    return reverse(f"admin:{step.page}_add")

"""The account that an operator has chosen, for the session: applies to the overview and to all lists.

Pages of single objects ignore it, and a filter in the URL overrides it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.admin import AdminSite
from django.db.models import F, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from msgspec import Struct

from accounts.models import Account
from operators.base.requests import admin_request
from operators.base.scope import request_scope

KEY = "account"  # session entry
FILTER = "account__id__exact"
MOST_OFFERED = 50


class Switch(Struct, frozen=True):
    """The sidebar's account switch; offers nothing if there is only one account."""

    chosen: Account | None
    offered: list[Account]
    there_are_more: bool


def offered_accounts(request: HttpRequest, most: int) -> tuple[list[Account], bool]:
    """Return up to `most` accounts by name, and whether there are more; then those whose keys were used last."""
    scope = request_scope(request)
    known: list[Account] | None = getattr(request, "all_accounts", None)
    found = list(scope.accounts()[: most + 1]) if known is None else known
    if len(found) <= most:
        admin_request(request).all_accounts = found
        return found, False
    used = scope.accounts().annotate(used=Max("api_keys__last_used_at"))
    latest = used.order_by(F("used").desc(nulls_last=True), "-pk")[:most]
    return sorted(latest, key=lambda account: (account.name, account.pk)), True


def chosen_id(request: HttpRequest) -> str | None:
    """Return the chosen account's id if the operator may see it."""
    account_id = request.session.get(KEY)
    return account_id if account_id and request_scope(request).includes(account_id) else None


def choose(request: HttpRequest, account: Account | None) -> None:
    """Choose an account that the operator may see, or None for all."""
    chosen = account.pk if account is not None else None
    if request.session.get(KEY) != chosen:  # avoids writing an unchanged session
        request.session[KEY] = chosen


@contextmanager
def listing(request: HttpRequest) -> Iterator[None]:
    """Restrict `ScopedAdmin.get_queryset` to the chosen account within the block."""
    admin_request(request).listing = True
    try:
        yield
    finally:
        admin_request(request).listing = False


def is_listing(request: HttpRequest) -> bool:
    return getattr(request, "listing", False)


def listed_id(request: HttpRequest) -> str | None:
    """Return the account that restricts a list, unless its URL names one."""
    return None if FILTER in request.GET else chosen_id(request)


def switch_of(request: HttpRequest) -> Switch:
    offered, there_are_more = offered_accounts(request, MOST_OFFERED)
    account_id = chosen_id(request)
    chosen = next((one for one in offered if one.pk == account_id), None)
    if chosen is None and account_id is not None:
        chosen = request_scope(request).account(account_id)
        if chosen is None:  # deleted meanwhile
            choose(request, None)
    return Switch(chosen, offered if len(offered) > 1 or there_are_more else [], there_are_more)


def switch_account(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Choose the account posted; a GET, as after a login, changes nothing."""
    if request.method != "POST":
        return redirect("admin:index")
    choose(request, request_scope(request).account(request.POST.get("account", "")))
    return redirect(f"admin:{list_of(request.POST.get('next', ''), site)}")


def list_of(path: str, site: AdminSite) -> str:
    """Return the URL name of the page after a switch: the list that the path belongs to, the page itself if it shows
    no object, otherwise the overview.
    """
    try:
        match = resolve(path)
    except Resolver404:
        return "index"
    name = match.url_name or ""
    for model in site._registry:
        of_model = f"{model._meta.app_label}_{model._meta.model_name}_"
        if name.startswith(of_model):
            return f"{of_model}changelist"
    return name if match.app_name == "admin" and "<" not in match.route else "index"

"""The accounts that a member of staff may see, and the one that they have chosen for the session.

The chosen account applies to the overview and to all lists. Pages of single objects ignore it, and a filter in the URL
overrides it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.contrib.admin import AdminSite
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, Max, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from msgspec import Struct

from accounts.models import Account, StaffScope
from kit.values import ids
from operators.base.mixins import ModelT
from operators.base.requests import admin_request

SCOPE_ATTRIBUTE = "_operator_scope"  # attribute of the user, which each request loads anew
CHECK_PERMISSIONS = ("licensing.view_policy", "licensing.view_content")
SESSION_KEY = "account"  # session entry
ACCOUNT_LOOKUP = "account__id__exact"
MAX_OFFERED = 50


class Scope(Struct, frozen=True):
    """A set of accounts; `account_ids` is None for all."""

    account_ids: frozenset[str] | None

    def includes(self, account_id: str) -> bool:
        return self.account_ids is None or account_id in self.account_ids

    def narrow(self, queryset: QuerySet[ModelT], account_field: str = "account_id") -> QuerySet[ModelT]:
        """Restrict rows to these accounts; `account_field` is the lookup of the account's id."""
        if self.account_ids is None:
            return queryset
        return queryset.filter(**{f"{account_field}__in": sorted(self.account_ids)})

    def accounts(self) -> QuerySet[Account]:
        return self.narrow(Account.objects.all(), "pk")

    def account(self, account_id: str) -> Account | None:
        """Return the account with this id, or None if it is not included."""
        if ids.decode("acc", account_id) is None:
            return None
        return self.accounts().filter(pk=account_id).first()

    def only_visible_account_id(self) -> str | None:
        """Return the account's id if the operator sees exactly one, also because the database has no other."""
        if self.account_ids is not None:
            return self.only_assigned_account_id()
        first = list(Account.objects.order_by().values_list("pk", flat=True)[:2])
        return first[0] if len(first) == 1 else None

    def only_assigned_account_id(self) -> str | None:
        """Return the account's id if the operator was assigned exactly one."""
        if self.account_ids is None or len(self.account_ids) != 1:
            return None
        [account_id] = self.account_ids
        return account_id


def read_scope(user: User | AnonymousUser) -> Scope:
    if isinstance(user, AnonymousUser) or not (user.is_active and user.is_staff):
        return Scope(frozenset())
    if user.is_superuser:
        return Scope(None)
    rows = list(StaffScope.objects.filter(user=user).values_list("all_accounts", "accounts"))
    if any(all_accounts for all_accounts, _ in rows):
        return Scope(None)
    return Scope(frozenset(account_id for _, account_id in rows if account_id is not None))


def set_scope(user: User, *, all_accounts: bool = False, accounts: Iterable[Account] = ()) -> StaffScope:
    """Give a member of staff access to all accounts, or only to those given."""
    scope, _ = StaffScope.objects.update_or_create(user=user, defaults={"all_accounts": all_accounts})
    scope.accounts.set(accounts)
    return scope


def request_scope(request: HttpRequest) -> Scope:
    """Return the operator's scope, read once per request."""
    scope: Scope | None = getattr(request.user, SCOPE_ATTRIBUTE, None)
    if scope is None:
        scope = read_scope(request.user)
        setattr(request.user, SCOPE_ATTRIBUTE, scope)
    return scope


def offered_accounts(request: HttpRequest, most: int) -> tuple[list[Account], bool]:
    """Return up to `most` accounts by name, and whether there are more; then those whose keys were used last."""
    scope = request_scope(request)
    accounts: list[Account] | None = getattr(request, "all_accounts", None)
    if accounts is None:
        accounts = list(scope.accounts()[: most + 1])
    if len(accounts) <= most:
        admin_request(request).all_accounts = accounts
        return accounts, False
    used = scope.accounts().annotate(used=Max("api_keys__last_used_at"))
    latest = used.order_by(F("used").desc(nulls_last=True), "-pk")[:most]
    return sorted(latest, key=lambda account: (account.name, account.pk)), True


def chosen_account_id(request: HttpRequest) -> str | None:
    """Return the chosen account's id if the operator may see it."""
    account_id = request.session.get(SESSION_KEY)
    return account_id if account_id and request_scope(request).includes(account_id) else None


def choose_account(request: HttpRequest, account: Account | None) -> None:
    """Choose an account that the operator may see, or None for all."""
    chosen = getattr(account, "pk", None)
    if request.session.get(SESSION_KEY) != chosen:  # avoids writing an unchanged session
        request.session[SESSION_KEY] = chosen


@contextmanager
def chosen_account_only(request: HttpRequest) -> Iterator[None]:
    """Restrict `ScopedAdmin.get_queryset` to the chosen account within the block."""
    admin_request(request).chosen_account_only = True
    try:
        yield
    finally:
        admin_request(request).chosen_account_only = False


def shows_chosen_account_only(request: HttpRequest) -> bool:
    return getattr(request, "chosen_account_only", False)


def listed_account_id(request: HttpRequest) -> str | None:
    """Return the account that restricts a list, unless its URL names one."""
    return None if ACCOUNT_LOOKUP in request.GET else chosen_account_id(request)


def build_switch(request: HttpRequest) -> dict[str, object]:
    """Return the sidebar's account switch, which offers nothing if there is only one account."""
    offered, there_are_more = offered_accounts(request, MAX_OFFERED)
    account_id = chosen_account_id(request)
    chosen = next((account for account in offered if account.pk == account_id), None)
    if chosen is None and account_id is not None:
        chosen = request_scope(request).account(account_id)
        if chosen is None:  # deleted meanwhile
            choose_account(request, None)
    if len(offered) < 2 and not there_are_more:
        offered = []
    return {"chosen": chosen, "offered": offered, "there_are_more": there_are_more}


def switch_account(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Choose the account posted; a GET, as after a login, changes nothing."""
    if request.method != "POST":
        return redirect("admin:index")
    choose_account(request, request_scope(request).account(request.POST.get("account", "")))
    return redirect(f"admin:{page_after_switch(request.POST.get('next', ''), site)}")


def page_after_switch(path: str, site: AdminSite) -> str:
    """Return the URL name of the page after a switch: the list that the path belongs to, the page itself if it shows
    no object, otherwise the overview.
    """
    try:
        match = resolve(path)
    except Resolver404:
        return "index"
    name = match.url_name or ""
    for model in site._registry:
        model_prefix = f"{model._meta.app_label}_{model._meta.model_name}_"
        if name.startswith(model_prefix):
            return f"{model_prefix}changelist"
    return name if match.app_name == "admin" and "<" not in match.route else "index"

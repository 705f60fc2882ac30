"""The accounts that a member of staff may see: those of their StaffScope, or all. Superusers see all."""

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest
from msgspec import Struct

from accounts.models import Account, StaffScope
from kit.values import ids
from operators.base.mixins import ModelT

KNOWN = "_operator_scope"  # attribute of the user, which each request loads anew


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
        return None if ids.decode("acc", account_id) is None else self.accounts().filter(pk=account_id).first()

    def sole_account(self) -> str | None:
        """Return the only visible account's id, also if it is the only one in the database."""
        if self.account_ids is not None:
            return self.only_account()
        first = list(Account.objects.order_by().values_list("pk", flat=True)[:2])
        return first[0] if len(first) == 1 else None

    def only_account(self) -> str | None:
        """Return the account's id if the scope has exactly one."""
        return next(iter(self.account_ids)) if self.account_ids is not None and len(self.account_ids) == 1 else None


def scope_of(user: User | AnonymousUser) -> Scope:
    """Return a user's scope, read once per request."""
    known: Scope | None = getattr(user, KNOWN, None)
    if known is None:
        known = read_scope(user)
        setattr(user, KNOWN, known)
    return known


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
    return scope_of(request.user)


NEEDED = ("licensing.view_policy", "licensing.view_content")


def may_try(request: HttpRequest) -> bool:
    return request.user.has_perms(NEEDED)

"""The accounts that a member of staff may see: all, or those of their StaffScope. Superusers see all."""

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest
from msgspec import Struct

from accounts.models import Account, StaffScope
from kit.values import ids
from operators.base.mixins import ModelT

KNOWN = "_operator_scope"  # an attribute of the user: `request.user` is an object of its own in each request


class Scope(Struct, frozen=True):
    """`account_ids` is None for all accounts."""

    account_ids: frozenset[str] | None

    def includes(self, account_id: str) -> bool:
        return self.account_ids is None or account_id in self.account_ids

    def narrow(self, queryset: QuerySet[ModelT], account_field: str = "account_id") -> QuerySet[ModelT]:
        """The rows of these accounts; `account_field` is the lookup of the account's id."""
        if self.account_ids is None:
            return queryset
        return queryset.filter(**{f"{account_field}__in": sorted(self.account_ids)})

    def accounts(self) -> QuerySet[Account]:
        return self.narrow(Account.objects.all(), "pk")

    def account(self, account_id: str) -> Account | None:
        """The account of that id, if it is one of these."""
        return None if ids.decode("acc", account_id) is None else self.accounts().filter(pk=account_id).first()

    def sole_account(self) -> str | None:
        """The same, also where there is no other account at all."""
        if self.account_ids is not None:
            return self.only_account()
        first = list(Account.objects.order_by().values_list("pk", flat=True)[:2])
        return first[0] if len(first) == 1 else None

    def only_account(self) -> str | None:
        """The account's id where there is just one to see."""
        return next(iter(self.account_ids)) if self.account_ids is not None and len(self.account_ids) == 1 else None


def scope_of(user: User | AnonymousUser) -> Scope:
    """The scope of a user, read once per request."""
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
    """Gives a member of staff all accounts, or just those given."""
    scope, _ = StaffScope.objects.update_or_create(user=user, defaults={"all_accounts": all_accounts})
    scope.accounts.set(accounts)
    return scope


def request_scope(request: HttpRequest) -> Scope:
    return scope_of(request.user)

"""Customers as the rows of the history refer to them: by number, and with the keys that seal their texts."""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from django.apps import apps
from django.db.models import Q


class Person(NamedTuple):
    number: int
    account_id: str
    id: str
    key: UUID | None  # null for one that is being erased
    seals_history: bool  # the account's: whether its rows are stored in this form

    @property
    def reference(self) -> str:
        return f"<requester {self.number}>"


People = Mapping[tuple[str, object], Person]  # by account and own id


def read_people(condition: Q, database: str | None = None) -> list[Person]:
    customers = apps.get_model("licensing", "Requester")._default_manager.using(database).filter(condition)
    columns = customers.values_list("pk", "account_id", "requester_id", "history_key", "account__seals_history")
    return [Person(*values) for values in columns]


def with_references(field: str) -> Callable[[list[str]], Q]:
    """Return the filter of a column by ids of resources, which has references to customers."""

    def has_one_of(ids: list[str]) -> Q:
        accounts = apps.get_model("accounts", "Account").objects.values("pk")  # the index of own ids begins with it
        people = read_people(Q(account__in=accounts, requester_id__in=ids))
        references = [person.reference for person in people]
        return Q(**{f"{field}__in": ids + references})

    return has_one_of

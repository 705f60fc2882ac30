"""Customers in the audit log and in events: rows have their numbers, and texts sealed with the customers' own keys.

A row about customers is stored as an erasure leaves it, with `<requester 17>` in place of a customer's own id.
`sealed` has the original texts. Queries restore the texts of the rows that they load. An erasure only replaces the
customer's key: then nothing can read `sealed`, and the rows show what is stored, with the pseudonym.

`sealed` is null in rows about other things, and in those that the version before wrote (licensing.customers.history).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.query import ModelIterable
from django.db.models.sql import Query

from accounts.history.encryption import seal, unseal
from accounts.history.people import People, Person, read_people
from kit.values.numbers import NumbersOfTheApi

BATCH_ROWS = 500
Refer = Callable[[object], str | None]  # returns the reference to the customer with this own id; None for null


class RestoredRows(ModelIterable):
    """The rows of a query, with the texts about customers."""

    def __iter__(self) -> Iterator["HistoryRow"]:
        rows = super().__iter__()
        while batch := list(islice(rows, BATCH_ROWS)):
            restore(batch)
            yield from batch


class HistoryQuerySet(models.QuerySet):
    """Loads rows with the texts about customers, and everything else as it is stored."""

    def __init__(
        self,
        model: type[models.Model] | None = None,
        query: Query | None = None,
        using: str | None = None,
        hints: dict[str, models.Model] | None = None,
    ) -> None:
        super().__init__(model, query, using, hints)
        self._iterable_class = RestoredRows


class HistoryRow(models.Model):
    """A row of the audit log, or an event. `_base_manager` reads what is stored."""

    concealed: ClassVar[tuple[str, ...]]  # columns that can name or describe customers

    customer = models.BigIntegerField(null=True, editable=False)
    other_customer = models.BigIntegerField(null=True, editable=False)  # of a merge
    sealed = models.BinaryField(null=True)  # the concealed columns as JSON, encrypted; empty if they are lost
    owner: str | None = None  # own id of the customer whose resource changed; not stored

    objects = HistoryQuerySet.as_manager()

    class Meta:
        abstract = True

    if TYPE_CHECKING:
        account_id: str

    def concerns_customers(self) -> bool:
        raise NotImplementedError

    def remainder(self, refer: Refer) -> dict[str, object]:
        """Return what an erasure leaves of the concealed columns."""
        raise NotImplementedError


def conceal(rows: Iterable[HistoryRow], find: Callable[[Sequence[HistoryRow]], People] | None = None) -> None:
    """Put references in place of what rows have of customers, and seal that with all their keys.

    `find` returns the customers of the rows, by default as they are stored.
    """
    about_customers = [row for row in rows if row.sealed is None and row.concerns_customers()]
    if not about_customers:
        return
    people = (find or find_people)(about_customers)
    if not all(person.seals_history for person in people.values()):
        return
    for row in about_customers:
        conceal_row(row, people)


def conceal_row(row: HistoryRow, people: People) -> None:
    named: dict[object, Person | None] = {}

    def refer(id: object) -> str | None:
        if id is None:
            return None
        person = named[id] = people.get((row.account_id, id))
        return None if person is None else person.reference

    remainder = row.remainder(refer)
    row.sealed = b""
    if named:
        row.sealed = seal(json.dumps({column: getattr(row, column) for column in remainder}), list(named.values()))
    numbers = sorted({person.number for person in named.values() if person is not None})
    for column, number in zip(("customer", "other_customer"), numbers, strict=False):
        setattr(row, column, number)
    for column, value in remainder.items():
        setattr(row, column, value)


def find_people(rows: Sequence[HistoryRow]) -> People:
    """Return the customers that the rows name."""
    ids: set[object] = set()
    for row in rows:
        row.remainder(ids.add)
    condition = Q(account_id__in={row.account_id for row in rows}, requester_id__in=ids - {None})
    return {(person.account_id, person.id): person for person in read_people(condition)}


def restore(rows: Sequence[HistoryRow]) -> None:
    """Put the texts about customers back into rows; of erased ones their pseudonyms."""
    about_customers = [row for row in rows if row.__dict__.get("customer") is not None]
    if not about_customers:
        return
    numbers = {number for row in about_customers for number in (row.customer, row.other_customer)}
    database = about_customers[0]._state.db
    people = {person.number: person for person in read_people(Q(pk__in=numbers - {None}), database)}
    for row in about_customers:
        named = [people.get(number) for number in (row.customer, row.other_customer) if number is not None]
        columns = original_columns(row, named)
        row.__dict__.update({column: columns[column] for column in columns if column in row.__dict__})


def original_columns(row: HistoryRow, people: Sequence[Person | None]) -> dict[str, Any]:
    """Return the concealed columns as they were, or after an erasure what it has left of them."""
    text = unseal(bytes(row.sealed or b""), people)
    if text is not None:
        columns: dict[str, Any] = json.loads(text)
        return columns
    return {column: rename(row.__dict__.get(column), people) for column in row.concealed}


def rename(value: object, people: Iterable[Person | None]) -> object:
    """Return the value with the customers' ids in place of references. Objects may be JSON text."""
    text = value if isinstance(value, str) else json.dumps(value)
    for person in people:
        if person is not None:
            id = json.dumps(person.id)[1:-1] if text.startswith("{") else person.id
            text = text.replace(person.reference, id)
    return text if isinstance(value, str) else NumbersOfTheApi().decode(text)

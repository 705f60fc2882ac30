"""The rows of a statement's file, which add up from its opening to its closing balance."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from analytics.models import Statement
from analytics.statements.lines import lines_of, payments_of
from analytics.statements.printing import PaymentRow, payment_rows
from analytics.statements.serializers import StatementLineSerializer
from kit.rest.export import CHUNK, Row, columns_of
from kit.storage.reading import in_chunks
from kit.values.decimals import render_amount
from kit.values.timestamps import render_timestamp

COLUMNS = [*columns_of(StatementLineSerializer), "balance"]
CREDIT_SIGNS = {"opening": 1, "granted": 1, "spent": -1, "expired": -1, "refunded": 1}


def balanced_chunks(statement: Statement) -> Iterator[list[Row]]:
    """Yield rows in chunks, each row with the balance after it."""
    balance = Decimal(0)
    for chunk in amount_chunks(statement):
        rows = []
        for amount, row in chunk:
            balance += amount
            rows.append({**row, "amount": render_amount(amount), "balance": render_amount(balance)})
        yield rows


def amount_chunks(statement: Statement) -> Iterator[Iterable[tuple[Decimal, Row]]]:
    """Yield the opening balance, all lines in order of booking, and payments; of a quota what changed it."""
    if statement.is_quota:
        yield credit_rows(statement)
        return
    yield [(statement.opening, {"type": "opening", "currency": statement.currency})]
    serializer = StatementLineSerializer()
    for lines in in_chunks(lines_of(statement), CHUNK):
        yield [(line.amount, serializer.to_representation(line)) for line in lines]
    settlements = payments_of(statement).filter(grant=None).order_by("created", "pk")  # not for credit
    yield [payment_row(row) for payment in settlements for row in payment_rows(payment, statement)]


def payment_row(row: PaymentRow) -> tuple[Decimal, Row]:
    payment = row.payment
    shown: Row = {
        "id": payment.pk,
        "type": row.kind,
        "currency": payment.currency,
        "description": row.what,
        "externalId": payment.external_id,
        "occurredAt": render_timestamp(row.at),
        "created": render_timestamp(payment.created),
    }
    return row.amount, shown


def credit_rows(statement: Statement) -> list[tuple[Decimal, Row]]:
    amounts = statement.credits
    return [
        (sign * amounts[name], {"type": name, "currency": statement.currency}) for name, sign in CREDIT_SIGNS.items()
    ]

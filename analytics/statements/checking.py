"""Check that statements add up to the ledger."""

from django.db.models import Sum

from analytics.models import LedgerEntry, Statement
from kit.values.amounts import plain


def differences() -> list[dict[str, object]]:
    """Return each account, requester and currency whose statements and ledger entries differ."""
    key = ("account_id", "requester_id", "currency")
    booked, stated = (
        {tuple(row[name] for name in key): row["sum"] for row in rows.order_by().values(*key).annotate(sum=sums)}
        for rows, sums in ((LedgerEntry.objects, Sum("amount")), (Statement.objects, Sum("total")))
    )
    return [
        {
            "accountId": one[0],
            "currency": one[2],
            "ledger": plain(booked.get(one, 0)),
            "statements": plain(stated.get(one, 0)),
        }
        for one in sorted(booked.keys() | stated.keys(), key=str)
        if booked.get(one, 0) != stated.get(one, 0)
    ]

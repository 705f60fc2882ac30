"""What deleting an account would delete, and what prevents it in the admin."""

from accounts.models import Account
from analytics.archive.lookup import archived_number
from analytics.models import AccessEvent
from licensing.account_deletion import keeps_ledger
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester

MOST_COUNTED = 10_000
MOST_DECISIONS = 100_000  # most decisions that a request may delete
COUNTED = {
    "Items": Content.objects.filter(deleted_at=None),
    "Policies": Policy.objects.filter(deleted_at=None),
    "Customers": Requester.objects.all(),
    "Licences": License.objects.all(),
    "Decisions": AccessEvent.objects.all(),
}


def counts_of(account: Account) -> list[tuple[str, str]]:
    """Count the account's rows by kind, up to MOST_COUNTED."""
    numbers = {
        name: rows.filter(account=account).order_by().values("pk")[: MOST_COUNTED + 1].count()
        for name, rows in COUNTED.items()
    }
    numbers["Decisions"] += archived_number(account.pk)
    return [
        (name, f"{number:,}" if number <= MOST_COUNTED else f"more than {MOST_COUNTED:,}")
        for name, number in numbers.items()
    ]


def why_kept(account: Account) -> str:
    """Return why the account cannot be deleted here; empty if it can."""
    if keeps_ledger(account):
        return "An account with a ledger cannot be deleted. Suspend it to stop its keys."
    decisions = (
        AccessEvent.objects.filter(account=account).order_by().values("pk")[MOST_DECISIONS : MOST_DECISIONS + 1]
    )
    if decisions.exists():
        command = "remove_demo" if account.is_demo else "delete_account"
        return f"It has more than {MOST_DECISIONS:,} decisions: `manage.py {command} {account.pk}` deletes it."
    return ""

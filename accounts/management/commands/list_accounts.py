from accounts.plans.models import Account
from accounts.plans.rendering import render_account
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Lists the accounts with their ids, plans and names."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        accounts = list(Account.objects.order_by("created", "pk"))
        lines = [
            f"{account.pk}  {account.plan:<12}  {account.name}{' (suspended)' if account.suspended_at else ''}"
            for account in accounts
        ]
        text = "\n".join(lines) or "There are no accounts yet: `create_account NAME --plan starter` makes one."
        return text, {"object": "list", "data": [render_account(account) for account in accounts]}

from accounts.retries import idempotency
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Deletes idempotency records older than 24 hours. They no longer count even before that."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        count = idempotency.purge()
        return f"Deleted {count} idempotency records.", {"deleted": count}

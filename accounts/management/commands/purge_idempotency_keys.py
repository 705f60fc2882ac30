from typing import Any

from accounts import services
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Deletes idempotency records older than 24 hours. They count no more even before."

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        count = services.purge_idempotency_keys()
        return f"Deleted {count} idempotency records.", {"deleted": count}

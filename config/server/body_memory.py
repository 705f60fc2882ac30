"""Memory for bodies being received: bounded per process (MAX_BODY_MEMORY_MIB) and per client."""

from collections import Counter

from django.conf import settings


class BodyMemory:
    """Counts the bytes of bodies in memory. Use only on the server's event loop."""

    def __init__(self) -> None:
        self.most = settings.MAX_BODY_MEMORY_MIB * 1024 * 1024
        self.held = 0
        self.held_by_client: Counter[str] = Counter()

    def hold(self, size: int, client: str | None) -> bool:
        """Count bytes kept in memory; return whether there is room for them. A single client may use a quarter."""
        if not size:
            return True
        self.held += size
        if client is None:
            return self.held <= self.most
        self.held_by_client[client] += size
        return self.held <= self.most and self.held_by_client[client] <= self.most // 4

    def let_go(self, size: int, client: str | None) -> None:
        self.held -= size
        if client is not None:
            self.held_by_client[client] -= size
            if self.held_by_client[client] <= 0:
                del self.held_by_client[client]

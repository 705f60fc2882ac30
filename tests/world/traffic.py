"""All requests of a part of a day, sent concurrently."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from tests.world.actors import crawlers, customer_desk, licensees, office, readers, web_server
from tests.world.caller import Reply
from tests.world.world import World

Work = Callable[[World, int, int], Iterator[Reply]]
USUAL: dict[Work, int] = {
    readers.read: 120,
    crawlers.crawl: 60,
    web_server.work: 140,
    licensees.read: 12,
    customer_desk.ask: 25,
}
PATIENCE = 120  # seconds; for a service that is killed and started in the middle


class Traffic:
    def __init__(self, world: World, day: int, share: float = 1.0) -> None:
        self.world, self.day = world, day
        self.counts = {work: world.times(round(usual * share)) for work, usual in USUAL.items()}
        self.left = self.counts[web_server.work] // 2  # until half of the replies of the fastest have arrived
        self.half = Event()

    def run(self, deeds: Iterable[Callable[[], object]] = (), *, kill: bool = False) -> None:
        """Send all requests; the deeds and the kill happen once the web server has half of its replies."""
        waiting = list(deeds)
        with ThreadPoolExecutor(len(self.counts) + len(waiting)) as executor:
            running = [executor.submit(self.send, work, count) for work, count in self.counts.items()]
            running += [executor.submit(self.amid, deed) for deed in waiting]
            if kill:
                # By this thread: the kernel ends a service with the thread that started it.
                self.amid(lambda: office.kill_service(self.world))
            for one in running:
                one.result()

    def send(self, work: Work, count: int) -> None:
        for reply in work(self.world, self.day, count):
            if work is web_server.work:
                self.left -= 1
                if self.left <= 0:
                    self.half.set()
            if reply.is_lost:
                time.sleep(0.3)  # a reader does not reload an unanswered page ten times a second

    def amid(self, deed: Callable[[], object]) -> None:
        assert self.half.wait(PATIENCE), "Traffic stands still."
        deed()

"""The progress of a long step of run.py, for a terminal or a log. Standard library only."""

import sys
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

# Between two lines.
SECONDS_IN_TERMINAL = 1
SECONDS_IN_LOG = 10


class Progress:
    """Print a title, then at intervals the last text `shown` and the seconds since the start.

    A terminal has one line, which is rewritten and erased at the end.
    """

    def __init__(self, title: str) -> None:
        self.text = title
        self.rewrites = sys.stdout.isatty()
        self.ended = Event()
        self.thread = Thread(target=self.keep_printing, daemon=True)

    def __enter__(self) -> Self:
        print(self.text, flush=True)
        self.began = monotonic()
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.thread.join()
        if self.rewrites:
            print("\r\033[K", end="", flush=True)

    def show(self, text: str) -> None:
        self.text = text

    def keep_printing(self) -> None:
        while not self.ended.wait(SECONDS_IN_TERMINAL if self.rewrites else SECONDS_IN_LOG):
            line = f"  {self.text} ({monotonic() - self.began:.0f} s)"
            print(f"\r\033[K{line}" if self.rewrites else line, end="" if self.rewrites else "\n", flush=True)


class PackageCount:
    """Reads the output of `pip install -r` line by line and shows how many of the packages are there."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress = progress
        self.total = total
        self.seen = 0

    def read(self, line: str) -> None:
        if line.startswith(("Collecting ", "Processing ", "Requirement already satisfied")):
            self.seen += 1
            self.progress.show(f"Downloading: {self.seen} of {self.total} packages")
        elif line.startswith("Installing collected packages"):
            self.progress.show(f"Unpacking {self.seen} packages")

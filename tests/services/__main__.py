"""Run PostgreSQL and Valkey until Ctrl-C, or while a command runs."""

import argparse
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress

from tests.services import UnavailableError, postgres, valkey


def run(command: list[str], environment: dict[str, str]) -> int:
    """Run the command and return its exit status. Ctrl-C reaches it directly; the servers outlive its cleanup."""
    signal.signal(signal.SIGINT, lambda number, frame: None)
    with subprocess.Popen(command, env=environment) as process:
        try:
            status = process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return status if status >= 0 else 128 - status


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.services",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--no-fsync", action="store_true", help="quicker, and safe against all but the machine's crash"
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="servers its environment names already are not started"
    )
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    kept = os.environ if options.command else {}
    with ExitStack() as stack:
        found: dict[str, str] = {}
        try:
            if not kept.get("DATABASE_URL"):
                found["DATABASE_URL"] = stack.enter_context(postgres(fsync=not options.no_fsync)).url
            if not kept.get("REDIS_URL"):
                found["REDIS_URL"] = stack.enter_context(valkey()).url
        except UnavailableError as error:
            print(error, file=sys.stderr)
            return os.EX_UNAVAILABLE
        if options.command:
            return run(options.command, {**os.environ, **found})
        print(*(f"export {name}={url}" for name, url in found.items()), sep="\n", flush=True)
        print("Ctrl-C stops both.", file=sys.stderr, flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())

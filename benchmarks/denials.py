"""Denied checks with and without an endpoint that receives denial events (docs/guides/webhooks.md, Decisions).

    python -m benchmarks.denials

Two installations on the same PostgreSQL are loaded alternately. A check does not include the cost of events: a thread
reads a minute's decisions once it is over. So the rounds must last for some minutes in total, and the end reports how
long the minute with the most decisions took.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.harness import expect, workplace
from benchmarks.load import measure, post_script
from benchmarks.ours import UNLICENSED, Ours, our_side
from benchmarks.report import load_of, parser, publish, runs_of, table

SUMMED_UP = """
from time import perf_counter
from django.db.models import Count
from django.db.models.functions import TruncMinute
from accounts.webhooks.models import WebhookEndpoint
from analytics.events.access_summaries import summaries
from analytics.models import AccessEvent
minutes = AccessEvent.objects.annotate(minute=TruncMinute("created")).values("minute").annotate(count=Count("id"))
most = minutes.order_by("-count").first()
begun = perf_counter()
events = summaries(WebhookEndpoint.objects.get(), most["minute"])
print(most["count"], round((perf_counter() - begun) * 1000), len(events))
"""


class Receiver(BaseHTTPRequestHandler):
    """A webhook receiver that accepts everything."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def deny(ours: Ours, directory_name: str) -> None:
    """Replace the load by checks that are denied."""
    assert ours.items
    ours.body = json.dumps({"contentId": ours.items[0], "requester": UNLICENSED})
    ours.side.script = post_script(ours.installation.directory / directory_name, ours.installation.headers, ours.body)


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        stack.callback(receiver.shutdown)
        private = {"WEBHOOKS_ALLOW_PRIVATE": "on"}
        without, hearing = (
            our_side(stack, name, directory, services, slug=slug, **private)
            for slug, name in (("without", "no endpoint"), ("hearing", "an endpoint that hears of denials"))
        )
        url = f"http://127.0.0.1:{receiver.server_port}/"
        hearing.installation.post("/v1/webhooks", {"url": url, "events": ["access.denied"]})
        for ours in (without, hearing):
            deny(ours, "denied.lua")
        sides = [hearing.side, without.side]
        measure(sides, **load_of(options))
        for ours in (without, hearing):
            ours.expect_all_stored()
        told = hearing.installation.client.get("/v1/events?type=access.denied").json()["data"]
        expect(bool(told), "No denial was told: let the rounds last for more than two minutes together.")
        expect(told[-1]["data"]["requester"]["id"] == UNLICENSED["id"], f"What was told is {told[-1]}")
        count, milliseconds, events = hearing.installation.manage("shell", "-v", "0", "-c", SUMMED_UP).split()[-3:]
        text = table(sides, without.side, "check")
        text += f"\n\nTo sum up a minute of {int(count):,} decisions took {milliseconds} ms, for {events} event(s)."
        publish("denials", text, {"denials": runs_of(sides)}, options)


if __name__ == "__main__":
    main()

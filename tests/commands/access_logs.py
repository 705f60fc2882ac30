"""Access logs to import."""

import json
from contextlib import nullcontext
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests import factories
from tests.edge.asking import LICENSED, READERS

BROWSER = "Mozilla/5.0 (X11; Linux x86_64)"
SOLD = {
    "action": "allow", "priority": 1, "conditions": {"licenseType": "crawl"},
    "permissions": ["full_access", "ai_training", "ai_input"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}  # fmt: skip
YESTERDAY = (timezone.now() - timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)


def publisher(account, host="pub.example"):
    """A site in observe mode with free, licensed and priced pages, a rate limit, and a registered item."""
    daily = {**READERS, "rateLimit": {"requests": 7, "period": "day"}}
    policy = factories.policy(account, factories.DENY_ALL)
    factories.content(account, source=f"https://{host}/item", policy_id=policy.pk)
    rules = {
        "/open/": factories.policy(account, {**READERS, "permissions": ["full_access"]}),
        "/premium/": factories.policy(account, LICENSED, daily),
        "/sold/": factories.policy(account, SOLD),
    }
    return factories.site(account, rules, host=host, mode="observe")


def escaped(text):
    return "".join(one if one not in '"\\' and 31 < ord(one) < 127 else f"\\x{ord(one):02X}" for one in text)


def combined(moment, uri, agent, *, address="203.0.113.9", method="GET", referer=""):
    """Return a log line as nginx writes it."""
    told = [escaped(referer) or "-", escaped(agent) or "-"]
    when = f"{moment:%d/%b/%Y:%H:%M:%S} +0000"
    return f'{address} - - [{when}] "{method} {escaped(uri)} HTTP/1.1" 200 12 "{told[0]}" "{told[1]}"'


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="latin-1")
    return str(path)


def run(path, *arguments, refusal=None):
    """Import a log and return the result. `refusal` is the message with which the command ends, if it does."""
    out = StringIO()
    with pytest.raises(CommandError, match=refusal) if refusal else nullcontext():
        call_command(
            "import_access_log", path, "--site", "pub.example", "--json", *arguments, stdout=out, stderr=StringIO()
        )
    return json.loads(out.getvalue().splitlines()[-1])


def refused(path, *arguments, message="Nothing can be imported"):
    """Import a log of which nothing can be imported, and return the result."""
    return run(path, *arguments, refusal=message)


HEADERS = (
    "#Version: 1.0\n#Fields: date time c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) "
    "cs-uri-query x-edge-location x-host-header"
)


@pytest.fixture(autouse=True)
def no_names(settings):
    settings.CRAWLER_DNS = False

"""`manage.py serve` that asks the tests' name server, and fetches key directories from the tests' signer.

NAME_SERVER_PORT, SIGNER_PORT and SIGNER_CERTIFICATE name them. Lookups have their full time, however busy the
machine is.
"""

import os
import ssl
import sys

import django
import dns.asyncresolver
from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from kit.outbound.client import Client, Reply  # noqa: E402 - needs the settings
from licensing.edge.verification import reverse_dns  # noqa: E402
from licensing.edge.verification.directories import Directories  # noqa: E402
from tests.outbound.receivers import Names  # noqa: E402

Resolver = dns.asyncresolver.Resolver


def resolver() -> Resolver:
    made = Resolver(configure=False)
    made.nameservers, made.port = ["127.0.0.1"], int(os.environ["NAME_SERVER_PORT"])
    return made


async def fetch(url: str) -> Reply:
    trusting = ssl.create_default_context(cafile=os.environ["SIGNER_CERTIFICATE"])
    client = Client(allow_private=True, resolve=Names("127.0.0.1"), certificates=trusting)
    return await client.send("GET", url.replace(".example", f".example:{os.environ['SIGNER_PORT']}"))


if __name__ == "__main__":
    dns.asyncresolver.Resolver = resolver  # type: ignore[assignment, misc]
    reverse_dns.PATIENCE = reverse_dns.LOOKUP_SECONDS
    Directories.__init__.__defaults__ = (fetch,)
    execute_from_command_line(["manage.py", "serve", *sys.argv[1:]])

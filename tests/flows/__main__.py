"""Print how much of the project each kind of request enters.

    python -m tests.services --no-fsync python -m tests.flows [FLOW]

With the name of a flow, such as "cached check", its calls are printed too, in order.
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from tests.flows.measuring import as_table, measure, profiled  # noqa: E402 - needs the settings

with profiled() as client:
    flows = measure(client)
print(as_table(flows))
for name in sys.argv[1:]:
    print(f"\n{name}", *(f"{file:<60}{function}" for file, function in flows[name].calls), sep="\n")

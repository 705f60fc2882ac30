"""Registers every page of the admin; Django imports this module."""

from operators.access import accounts, api_keys, audit_log, webhooks  # noqa: F401
from operators.catalogue import content, decisions, sites  # noqa: F401
from operators.customers import (  # noqa: F401
    customers,
    ledger,
    license_clients,
    licenses,
    payments,
    statements,
    wallets,
)
from operators.policies import pages as policy_pages  # noqa: F401
from operators.staff import pages as staff_pages  # noqa: F401

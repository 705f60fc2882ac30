"""Registers every page of the admin; Django imports this module."""

from operators.access import accounts, api_keys, audit_log, webhooks  # noqa: F401
from operators.catalogue import content, decisions, sites  # noqa: F401
from operators.customers import customers, ledger, payments, statements, wallets  # noqa: F401
from operators.licenses import clients  # noqa: F401
from operators.licenses import pages as license_pages  # noqa: F401
from operators.policies import pages as policy_pages  # noqa: F401
from operators.staff import pages as staff_pages  # noqa: F401

"""Registers every page of the admin; Django imports this module."""

from operators.access import accounts, api_keys, audit_log, webhooks  # noqa: F401
from operators.catalogue import content, decisions, sites  # noqa: F401
from operators.customers import ledger, license_clients, licenses, requesters, statements  # noqa: F401
from operators.policies import pages as policy_pages  # noqa: F401
from operators.staff import pages as staff_pages  # noqa: F401

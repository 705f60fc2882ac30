"""The admin's pages for accounts, keys, the audit log and staff."""

from accounts.admin import accounts, api_keys, audit_log, staff  # noqa: F401 - registers them

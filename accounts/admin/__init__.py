"""The admin's pages for accounts, keys and staff."""

from accounts.admin import accounts, api_keys, staff  # noqa: F401 - registers them

"""The people who run the service, and what every page of their admin shares: the site, who sees what, how it writes.

An app's own pages are in its `admin` module or package, on `base.ScopedAdmin` or `base.ServiceAdmin`; the sidebar is
in `config.navigation`.
"""

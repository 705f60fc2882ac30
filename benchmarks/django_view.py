"""The service's Django view in threads, without the event loop's gateway: its request path for checks.

It reads key, item and requester by the ORM for each check, and commits each decision separately. Mounted as in
config/asgi.py, so that only the request path differs.
"""

import os
from typing import Any

import django
from a2wsgi import WSGIMiddleware
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from config.wsgi import application as django_application  # noqa: E402 - needs the settings

wsgi: Any = django_application
application = WSGIMiddleware(wsgi, workers=settings.THREADS)

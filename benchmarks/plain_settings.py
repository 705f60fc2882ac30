"""Settings of the straightforward versions: the service's tables and Django's defaults.

The version is benchmarks/plain_check.py, or the module in URLS. Durability is the service's own: synchronous_commit on
PostgreSQL, WAL with synchronous=FULL on SQLite.
"""

import os

from config.settings import *  # noqa: F403
from config.settings import DATABASES

ROOT_URLCONF = os.environ.get("URLS", "benchmarks.plain_check")
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}

# A connection for each thread, kept open: the fastest that Django offers.
DATABASES["default"]["CONN_MAX_AGE"] = None
DATABASES["default"]["CONN_HEALTH_CHECKS"] = False
if os.environ.get("DATABASE_URL"):
    DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
    DATABASES["default"]["OPTIONS"].pop("pool")

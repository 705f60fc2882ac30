"""Django's logging: one line or one JSON object for each entry (docs/reference/observability.md)."""

from kit.environ import env_choice

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "kit.http.request_ids.RequestIdFilter"},
        "outages": {"()": "kit.storage.outage_causes.PoolFilter"},
    },
    "formatters": {"line": {"()": "kit.telemetry.logs.Lines"}, "json": {"()": "kit.telemetry.logs.JsonLines"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env_choice("LOG_FORMAT", "line", "json"),
            "filters": ["request_id"],
        },
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"level": "ERROR"},
        "psycopg.pool": {"filters": ["outages"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # anyone can cause it; answered with 400
    },
}

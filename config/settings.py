"""All settings. A fresh clone needs none; production sets environment variables (docs/guides/deployment.md)."""

import os
import secrets
from hashlib import sha256
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config import admin_settings, database_settings
from config.openapi import settings as openapi_settings
from config.server_settings import *  # noqa: F403 - each of its names is a setting
from config.server_settings import HEAVY_THREADS, THREADS
from kit.environ import env, env_bool, env_choice, env_hosts, env_int, env_list, env_parsed, env_seconds, env_url
from kit.http import deprecations
from kit.private_files import GROUP_AND_OTHERS, private_directory, remove_permissions
from kit.telemetry.reserved_files import use_reserved_files
from kit.values.same_page_setting import SamePage

BASE_DIR = Path(__file__).resolve().parent.parent


DATA_DIR = Path(env("DATA_DIR") or BASE_DIR / "var").resolve()
if not env("DATA_DIR"):  # the default directory; the check accounts.W004 reports a chosen one that is open to others
    remove_permissions(DATA_DIR, GROUP_AND_OTHERS)


def kept_secret() -> str:
    """Return the SECRET_KEY of an installation that sets none: created once beside its data, readable by its owner."""
    try:
        private_directory(DATA_DIR)
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR, {DATA_DIR}, cannot be used: {error.strerror}.") from None
    path = DATA_DIR / "secret_key"
    try:
        draft = DATA_DIR / f"secret_key.{os.getpid()}"
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        # Creating a hard link is atomic: of several starting processes, one wins.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    remove_permissions(path, GROUP_AND_OTHERS)
    return path.read_text().strip()


# --- Who may reach it ------------------------------------------------------------------------------------------------

DEBUG = env_bool("DEBUG")
SECRET_KEY = env("SECRET_KEY") or kept_secret()
# Digests of API keys and encrypted replies depend on this. Separate from SECRET_KEY, so that either can be changed.
API_KEY_PEPPER_TEXT = env("API_KEY_PEPPER") or SECRET_KEY
API_KEY_PEPPER = sha256(b"api-key-pepper:" + API_KEY_PEPPER_TEXT.encode()).digest()
# During a change of the pepper: those before it, which still open what they protect.
FORMER_PEPPER_TEXTS = env_list("API_KEY_PEPPER_PREVIOUS")
FORMER_PEPPERS = tuple(sha256(b"api-key-pepper:" + text.encode()).digest() for text in FORMER_PEPPER_TEXTS)

# ALLOWED_HOSTS marks a deployment, as opposed to a trial on one's own machine: cookies are then Secure.
PUBLIC = bool(env("ALLOWED_HOSTS"))
ALLOWED_HOSTS = env_hosts("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ADMIN = admin_settings.ADMIN
ADMIN_HOST = admin_settings.ADMIN_HOST
ADMIN_PORT = admin_settings.ADMIN_PORT
ADMIN_REQUIRE_TOTP = admin_settings.ADMIN_REQUIRE_TOTP
if ADMIN_HOST:
    ALLOWED_HOSTS.append(ADMIN_HOST)
TRUSTED_PROXIES = env_list("TRUSTED_PROXIES")

SESSION_ENGINE = "operators.login.session_store"
SESSION_COOKIE_SECURE = PUBLIC
LOGIN_REDIRECT_URL = "/admin/"  # after a login without a target page
CSRF_COOKIE_SECURE = PUBLIC
SESSION_COOKIE_HTTPONLY = True
AUTH_PASSWORD_VALIDATORS = admin_settings.PASSWORD_VALIDATORS
# Strict would sign out operators who follow a link to the admin
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = "/admin/"
SESSION_COOKIE_AGE = admin_settings.SESSION_SECONDS
if ADMIN:
    CSRF_FAILURE_VIEW = "operators.error_pages.csrf_failed"
CSRF_TRUSTED_ORIGINS = [f"https://{host.lstrip('.')}" for host in ALLOWED_HOSTS if host != "*"] if PUBLIC else []
SECURE_HSTS_SECONDS = 31_536_000  # sent over HTTPS only
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_PROXY_SSL_HEADER = (
    "HTTP_X_FORWARDED_PROTO",
    "https",
)  # RequestMiddleware removes it unless it comes from a trusted proxy
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains is the domain owner's decision, at the proxy
    "security.W008",  # an API must not redirect, because the key would already have been sent unencrypted
    "security.W021",  # HSTS preloading is the domain owner's decision, too
    *([] if ADMIN else ["security.W003"]),  # without forms and cookies there is nothing to forge
]

# --- What it is made of ----------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config",
    *admin_settings.APPS,
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "corsheaders",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "accounts",
    "licensing",
    "analytics",
]

MIDDLEWARE = [
    "licensing.edge.middleware.ProxyQuestions",
    "kit.http.headers.RequestMiddleware",
    "kit.telemetry.observing.ObservationMiddleware",
    "accounts.limits.limiter.RateLimitHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.documentation.serving.DocumentationMiddleware",
    "config.page_limit.PageLimitMiddleware",
    "kit.http.rendering.CompressionMiddleware",
    "licensing.edge.middleware.SiteDocuments",  # before CommonMiddleware, which rejects unknown hosts
    "config.monitoring.metrics_page.MetricsMiddleware",  # likewise
    "django.middleware.common.CommonMiddleware",
    *admin_settings.MIDDLEWARE,
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

UNFOLD = admin_settings.UNFOLD
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # per form: a policy with 100 rules has about 2,500
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024  # the API's own limit of 1 MiB is in kit.http.parsing

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en-us"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["config.formats"]

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True  # serves files from their apps, without collectstatic
DOCS_SITE = Path(env("DOCS_SITE") or BASE_DIR / "site").resolve()  # where `manage.py build_docs` puts /docs/

# --- Where it keeps things -------------------------------------------------------------------------------------------


DATABASE_POOLING = database_settings.POOLING
DATABASES = database_settings.databases(DATA_DIR, THREADS + HEAVY_THREADS)
DATABASE_ROUTERS = ["kit.storage.replica.Router"] if "replica" in DATABASES else []
REPORTS_MAX_LAG = env_int("REPORTS_MAX_LAG", 60, 3_600)  # seconds that the replica may be behind
ARCHIVE_DIR = database_settings.archive_dir(DATA_DIR / "archive")  # a folder, or s3://bucket/prefix
ARCHIVE_ENDPOINT = database_settings.archive_endpoint()
ARCHIVE_REGION = env("AWS_REGION")
ARCHIVE_SECRETS = database_settings.archive_secrets()
ARCHIVE_AFTER_DAYS = env_int("ARCHIVE_AFTER_DAYS", 0, 36_500, least=0)  # 0: `manage.py archive_events` removes nothing
PAGE_RETENTION_DAYS = env_int("PAGE_RETENTION_DAYS", 400, 3_650)  # of the page report
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TOPOLOGIES = ("", "+sentinel", "+cluster")
REDIS_URL = env_url("REDIS_URL", "unix", *(f"{scheme}{kind}" for kind in TOPOLOGIES for scheme in ("redis", "rediss")))

# --- The API ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.keys.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.limits.limiter.PlanThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["kit.http.rendering.JSONRenderer"],
    # for the OpenAPI document only; see kit.http.parsing
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "kit.http.error_replies.exception_handler",
    "NON_FIELD_ERRORS_KEY": "\0",  # cannot be the name of a field
    "DEFAULT_SCHEMA_CLASS": "kit.rest.openapi.ApiSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# Public keys are used by pages of any origin. Cookies have no effect under /v1, so there is nothing to forge.
CORS_URLS_REGEX = r"^/v1/"
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_HEADERS = [
    "authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id",
]  # fmt: skip
CORS_EXPOSE_HEADERS = [
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy", "ratelimit", "x-request-id",
    "retry-after", "idempotent-replayed", "etag", "location", "deprecation", "sunset", "link", "as-of",
]  # fmt: skip

DEPRECATIONS = env_parsed("DEPRECATIONS", deprecations.parse)  # docs/reference/versions.md

SPECTACULAR_SETTINGS = openapi_settings.SPECTACULAR

# --- Decisions and the edge (docs/reference/edge.md) -----------------------------------------------------------------

CRAWLER_DNS = env_bool("CRAWLER_DNS", "on")  # whether to verify crawlers by reverse DNS
CRAWLER_LISTS = env_bool("CRAWLER_LISTS")  # whether to fetch the address lists that crawlers' operators publish

# the longest that a decision may be cached
EDGE_CACHE_SECONDS = env_int("EDGE_CACHE_SECONDS", 0, 60, least=0)
DECISION_CACHE_SECONDS = env_int("DECISION_CACHE_SECONDS", 60, 86_400, least=0)
LICENSE_TOKEN_SECONDS = env_int("LICENSE_TOKEN_SECONDS", 3_600, 86_400, least=60)  # validity of a licence token
BASE_URL = env_url("BASE_URL", "http", "https").rstrip("/")  # issuer of signed decisions; by default the requested URL

PAGE_PARAMETERS = env_list("PAGE_PARAMETERS")
SAME_PAGE = env_parsed("SAME_PAGE", lambda _: SamePage.from_words(env_list("SAME_PAGE"), PAGE_PARAMETERS))

# --- Webhooks (docs/guides/webhooks.md) ------------------------------------------------------------------------------

WEBHOOKS_ALLOW_PRIVATE = env_bool("WEBHOOKS_ALLOW_PRIVATE")  # allows http, any port and private addresses
SHARED_JOBS = True  # off in processes of `manage.py serve` that have one for background work beside them
WEBHOOKS_DELIVER = env_bool("WEBHOOKS_DELIVER", "on")  # off: `manage.py deliver_webhooks` runs elsewhere
WEBHOOK_RETRY_SCHEDULE = env_seconds("WEBHOOK_RETRY_SCHEDULE", "0,5,300,1800,7200,18000,36000,50400,72000,86400")
EVENT_RETENTION_DAYS = env_int("EVENT_RETENTION_DAYS", 30, 3_650)

# --- What it says (docs/reference/observability.md) ------------------------------------------------------------------

PROMETHEUS_MULTIPROC_DIR = env("PROMETHEUS_MULTIPROC_DIR")  # needed with several workers; `manage.py serve` sets it
if PROMETHEUS_MULTIPROC_DIR:
    private_directory(Path(PROMETHEUS_MULTIPROC_DIR))
    use_reserved_files()
METRICS_TOKEN = env("METRICS_TOKEN")
ACCESS_LOG = env_bool("ACCESS_LOG")
# enables traces, if the `tracing` packages are installed
OTEL_EXPORTER_OTLP_ENDPOINT = env("OTEL_EXPORTER_OTLP_ENDPOINT")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "kit.http.headers.RequestIdFilter"},
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

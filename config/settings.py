"""All settings. A clone runs with nothing set; production sets the environment (docs/deployment.md)."""

import os
import secrets
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import dj_database_url

BASE_DIR = Path(__file__).resolve().parent.parent


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def env_list(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in env(name, default).split(",") if item.strip()]


def env_int(name: str, default: int, most: int) -> int:
    text = env(name) or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        sys.exit(f"The environment variable {name} must be a whole number from 1 to {most}, not {text!r}.")
    return int(text)


def env_bool(name: str) -> bool:
    text = env(name).lower()
    if text not in {"", "0", "1", "true", "false", "yes", "no", "on", "off"}:
        sys.exit(f"The environment variable {name} must be true or false, not {text!r}.")
    return text in {"1", "true", "yes", "on"}


def env_url(name: str, *schemes: str) -> str:
    """The secrets that a URL may hold stay out of the message."""
    text = env(name)
    if text and not text.startswith(tuple(f"{scheme}:" for scheme in schemes)):
        sys.exit(f"The environment variable {name} must be a URL that begins with {' or '.join(schemes)}.")
    return text


DATA_DIR = Path(env("DATA_DIR") or BASE_DIR / "var").resolve()


def kept_secret() -> str:
    """The SECRET_KEY of an installation that set none: made once, kept beside its data, readable by its owner."""
    DATA_DIR.mkdir(parents=True, exist_ok=True)
    path = DATA_DIR / "secret_key"
    try:
        draft = DATA_DIR / f"secret_key.{os.getpid()}"
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        # A hard link appears whole or not at all: of several processes starting at once, one wins.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    return path.read_text().strip()


# --- Who may reach it ------------------------------------------------------------------------------------------------

DEBUG = env_bool("DEBUG")
SECRET_KEY = env("SECRET_KEY") or kept_secret()
# Digests of API keys and sealed replies hang on this. It may differ from SECRET_KEY, so that one can be changed alone.
API_KEY_PEPPER = sha256(b"api-key-pepper:" + (env("API_KEY_PEPPER") or SECRET_KEY).encode()).digest()

# Naming hosts is what tells a deployment from a trial on one's own machine, so cookies are Secure from then on.
PUBLIC = bool(env("ALLOWED_HOSTS"))
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
TRUSTED_PROXIES = env_list("TRUSTED_PROXIES")
HOST = env("HOST", "127.0.0.1")
PORT = env_int("PORT", 8000, 65_535)
WORKERS = env_int("WORKERS", 1, 256)
THREADS = env_int("THREADS", 16, 1000)

SESSION_COOKIE_SECURE = PUBLIC
CSRF_COOKIE_SECURE = PUBLIC
SESSION_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [f"https://{host.lstrip('.')}" for host in ALLOWED_HOSTS if host != "*"] if PUBLIC else []
SECURE_HSTS_SECONDS = 31_536_000  # sent over HTTPS only
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_PROXY_SSL_HEADER = (
    "HTTP_X_FORWARDED_PROTO",
    "https",
)  # ClientAddressMiddleware drops it unless a proxy is trusted
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains is for the owner of the domain to decide, at the proxy
    "security.W008",  # an API must not redirect: the key would have crossed the wire in the clear by then
    "security.W021",  # HSTS preloading, likewise
]

# --- What it is made of ----------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
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
    "config.api.middleware.RequestIdMiddleware",
    "config.api.middleware.ClientAddressMiddleware",
    "accounts.middleware.RateLimitHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.api.middleware.ApiBoundaryMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024  # the API's own bound of 1 MiB is in config.api.parsing

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config" / "templates"],
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

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "config" / "static"]
WHITENOISE_USE_FINDERS = True  # served from where they are: there is nothing to collect

# --- Where it keeps things -------------------------------------------------------------------------------------------


def database() -> dict[str, Any]:
    url = env_url("DATABASE_URL", "sqlite", "postgres", "postgresql")
    if not url or url.startswith("sqlite"):
        DATA_DIR.mkdir(parents=True, exist_ok=True)
        name = dj_database_url.parse(url)["NAME"] if url else DATA_DIR / "db.sqlite3"
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": name,
            "OPTIONS": {
                # A transaction takes the write lock when it begins: one that upgrades later can only fail.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # FULL: a commit is on disk before the reply that tells of it leaves.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;",
            },
            # A file also under test: SQLite's in-memory database cannot be shared by threads or processes.
            "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
        }
    parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    parsed["ENGINE"] = "config.postgresql"
    options = parsed.setdefault("OPTIONS", {})
    # A lost server is noticed within seconds, and a request never waits longer than that for a connection.
    options["pool"] = {"min_size": 1, "max_size": THREADS + 5, "timeout": 5, "max_idle": 300, "reconnect_timeout": 1}
    # A connection is tried before it serves a request: what a restarted server has closed is replaced unseen.
    parsed["CONN_HEALTH_CHECKS"] = True
    options.setdefault("connect_timeout", 5)
    return parsed


DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env_url("REDIS_URL", "redis", "rediss", "unix")
CACHES: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if REDIS_URL:
    CACHES["default"] = {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {
            "SOCKET_CONNECT_TIMEOUT": 0.5,
            "SOCKET_TIMEOUT": 0.5,
            "CONNECTION_POOL_KWARGS": {"max_connections": 256},
        },
    }

# --- The API ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.permissions.KeyHasPermission"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.throttling.PlanThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.rendering.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "rest_framework.parsers.JSONParser"
    ],  # for the OpenAPI document; see config.api.parsing
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.rendering.AlwaysJSON",
    "EXCEPTION_HANDLER": "config.api.errors.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "config.api.openapi.ApiSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# Public keys are for pages of any origin. No cookie counts under /v1, so there is nothing for another site to ride on.
CORS_URLS_REGEX = r"^/v1/"
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_HEADERS = ["authorization", "content-type", "idempotency-key", "x-request-id"]
CORS_EXPOSE_HEADERS = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
    "retry-after",
    "idempotent-replayed",
]

SPECTACULAR_SETTINGS = {
    "TITLE": "Content Access Licensing API",
    "VERSION": "1.0.0",
    "DESCRIPTION": (
        "Registers content, keeps the policies that say who may use it, and decides each use.\n\n"
        "Send `Authorization: Bearer <API_KEY>` with every request, and `Idempotency-Key` with a POST that may be "
        "retried. Bodies are JSON objects; a field that a resource does not have is refused, one that the service "
        "sets itself (`id`, `created`, …) is ignored, so that what was read can be sent back. No text may hold "
        "U+0000. Lists take `field=value` and `field[op]=value` filters."
    ),
    "TAGS": [
        {"name": "content", "description": "The items that a publisher owns."},
        {"name": "policies", "description": "Who may use what is linked to them, and on which terms."},
        {"name": "access", "description": "Checks, and the decisions that they left."},
        {"name": "api-keys", "description": "The keys that authenticate callers."},
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "PREPROCESSING_HOOKS": ["config.api.openapi.only_v1"],
    "POSTPROCESSING_HOOKS": ["config.api.openapi.shared_components"],
}

PROMETHEUS_MULTIPROC_DIR = env("PROMETHEUS_MULTIPROC_DIR")

# --- What it says ----------------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "config.api.middleware.RequestIdFilter"}},
    "formatters": {"line": {"format": "{asctime} {levelname} {name} [{request_id}] {message}", "style": "{"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]},
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # answered with a 400; anybody can cause it
    },
}

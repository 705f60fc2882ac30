"""Settings of the admin: address, apps, middleware and appearance (docs/guides/admin.md)."""

from django.templatetags.static import static
from django.urls import reverse
from django.utils.timezone import get_current_timezone_name

from kit.environ import env, env_bool, env_host, env_int

ADMIN = env_bool("ADMIN", "on")  # off removes its URLs, middleware and code
ADMIN_HOST = env_host("ADMIN_HOST")  # the only host name that serves the admin
ADMIN_PORT = env_int("ADMIN_PORT", 0, 65_535) if env("ADMIN_PORT") else 0  # a separate port for the admin

ADMIN_REQUIRE_TOTP = env_bool("ADMIN_REQUIRE_TOTP")  # staff without a second factor can only set one up

PASSWORD_VALIDATORS: list[dict[str, object]] = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
SESSION_SECONDS = 8 * 3600  # a working day; operators.middleware ends the session then, even if it is in use

APPS = [
    "operators.apps.OperatorsConfig",  # before unfold, to override its templates and scripts
    "unfold.apps.BasicAppConfig",  # before the admin, to override it
    "unfold.contrib.filters",
    "django.contrib.humanize",
    "operators.apps.OperatorAdminConfig",  # django.contrib.admin with this project's site
]
MIDDLEWARE = [
    "operators.middleware.AdminMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "operators.login.session_end.AdminSessionMiddleware",
    "operators.middleware.TimeZoneMiddleware",
    "operators.middleware.OperatorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
if not ADMIN:
    APPS = []
    MIDDLEWARE = []

NAME = "Content Access Licensing"  # heading of all pages
# The colours of brand/brand.css, by name.
SHADES = ("50", "100", "200", "300", "400", "500", "600", "700", "800", "900", "950")

UNFOLD: dict[str, object] = {
    "SITE_TITLE": NAME,
    "SITE_HEADER": NAME,
    "SITE_ICON": lambda request: static("brand/mark.svg"),
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("brand/mark.svg")},
    ],
    "STYLES": [
        lambda request: static("brand/brand.css"),
        lambda request: static("operators/admin.css"),
        lambda request: static("operators/lists.css"),
        lambda request: static("operators/forms.css"),
    ],
    "SCRIPTS": [
        lambda request: static("operators/alpine.js"),
        lambda request: static("operators/labels.js"),
        lambda request: static("operators/sent_once.js"),
        lambda request: static("operators/kept_form.js"),
        lambda request: static("operators/copy.js"),
    ],
    "COLORS": {
        "primary": {shade: f"var(--brand-{shade})" for shade in SHADES},
        "base": {shade: f"var(--grey-{shade})" for shade in SHADES},
    },
    "BORDER_RADIUS": "var(--brand-radius)",
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_HISTORY": False,  # except where operators.base.history adds it
    "LOGIN": {"form": "operators.login.form.LoginForm"},
    "ACCOUNT": {
        "navigation": [
            {
                "title": lambda request: f"Time zone: {get_current_timezone_name()}",
                "link": lambda request: reverse("admin:time_zone"),
            },
            {"title": "Two-factor login", "link": lambda request: reverse("admin:second_factor")},
            {"title": "Change password", "link": lambda request: reverse("admin:password_change")},
        ]
    },
    "DASHBOARD_CALLBACK": "operators.overview.page.overview",
    "SIDEBAR": {"navigation": "operators.navigation.sidebar"},
}

"""The admin's settings: its address, apps, middleware and appearance (docs/admin.md)."""

from django.templatetags.static import static
from django.urls import reverse

from kit.environ import env, env_bool, env_int

ADMIN = env_bool("ADMIN", "on")  # off: no address, no middleware and no code of it is there
ADMIN_HOST = env("ADMIN_HOST").lower()  # the only host name under which the admin answers
ADMIN_PORT = env_int("ADMIN_PORT", 0, 65_535) if env("ADMIN_PORT") else 0  # a port of its own, beside PORT

ADMIN_REQUIRE_TOTP = env_bool("ADMIN_REQUIRE_TOTP")  # nobody gets further than to set up a second factor without one

PASSWORD_VALIDATORS: list[dict[str, object]] = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
SESSION_SECONDS = 8 * 3600  # a working day; operators.middleware ends it by the clock, however busy it is

APPS = [
    "operators.apps.OperatorsConfig",  # before unfold, whose templates and scripts it replaces
    "unfold.apps.BasicAppConfig",  # before the admin, likewise
    "unfold.contrib.filters",
    "django.contrib.humanize",
    "operators.apps.OperatorAdminConfig",  # django.contrib.admin with the site of this project
]
MIDDLEWARE = [
    "operators.middleware.AdminMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "operators.middleware.SessionMiddleware",
    "operators.middleware.OperatorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
if not ADMIN:
    APPS, MIDDLEWARE = [], []

# Blues that can be read on white and on unfold's dark ground; its own purple cannot on the latter.
PRIMARY = {
    "50": "oklch(97% .014 254.604)",
    "100": "oklch(93.2% .032 255.585)",
    "200": "oklch(88.2% .059 254.128)",
    "300": "oklch(80.9% .105 251.813)",
    "400": "oklch(75% .14 254)",
    "500": "oklch(68% .17 257)",
    "600": "oklch(53% .22 262)",
    "700": "oklch(48.8% .22 264)",
    "800": "oklch(42.4% .199 265.638)",
    "900": "oklch(37.9% .146 265.522)",
    "950": "oklch(28.2% .091 267.935)",
}

UNFOLD: dict[str, object] = {
    "SITE_TITLE": "Content Access Licensing",
    "SITE_HEADER": "Access Licensing",
    "SITE_SYMBOL": "verified_user",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("pages/icon.svg")},
    ],
    "STYLES": [lambda request: static("operators/admin.css")],
    "SCRIPTS": [
        lambda request: static("operators/alpine.js"),
        lambda request: static("operators/labels.js"),
        lambda request: static("operators/sent_once.js"),
        lambda request: static("operators/kept_form.js"),
        lambda request: static("operators/copy.js"),
    ],
    "COLORS": {"primary": PRIMARY},
    "BORDER_RADIUS": "6px",
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_HISTORY": False,  # but where there is one: operators.base.history
    "LOGIN": {"form": "operators.login.form.LoginForm"},
    "ACCOUNT": {
        "navigation": [
            {"title": "Two-factor login", "link": lambda request: reverse("admin:second_factor")},
            {"title": "Change password", "link": lambda request: reverse("admin:password_change")},
        ]
    },
    "DASHBOARD_CALLBACK": "operators.overview.page.overview",
    "SIDEBAR": {"navigation": "operators.navigation.sidebar"},
}

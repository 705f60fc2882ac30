"""The admin's settings: whether it is there and where, what it is made of, and how it looks (docs/admin.md)."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse

from config.environ import env, env_bool, env_int

ADMIN = env_bool("ADMIN", "on")  # off: no address, no middleware and no code of it is there
ADMIN_HOST = env("ADMIN_HOST").lower()  # the only host name under which the admin answers
ADMIN_PORT = env_int("ADMIN_PORT", 0, 65_535) if env("ADMIN_PORT") else 0  # a port of its own, beside PORT

ADMIN_REQUIRE_TOTP = env_bool("ADMIN_REQUIRE_TOTP")  # nobody gets further than to set up a second factor without one

SESSION_SECONDS = 8 * 3600  # a working day; accounts.operators.middleware ends it by the clock, however busy it is

APPS = [
    "unfold.apps.BasicAppConfig",  # before the admin, whose templates it replaces
    "unfold.contrib.filters",
    "accounts.operators.apps.OperatorAdminConfig",  # django.contrib.admin with the site of this project
]
MIDDLEWARE = [
    "accounts.operators.middleware.AdminMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.operators.middleware.SessionMiddleware",
    "accounts.operators.middleware.OperatorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
if not ADMIN:
    APPS, MIDDLEWARE = [], []

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Content Access Licensing",
    "SITE_HEADER": "Access Licensing",
    "SITE_SYMBOL": "verified_user",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("pages/icon.svg")},
    ],
    "STYLES": [lambda request: static("operators/admin.css")],
    "SCRIPTS": [lambda request: static("operators/alpine.js")],
    "BORDER_RADIUS": "6px",
    "SHOW_VIEW_ON_SITE": False,
    "LOGIN": {"form": "accounts.operators.login.LoginForm"},
    "ACCOUNT": {
        "navigation": [
            {"title": "Two-factor login", "link": lambda request: reverse("admin:second_factor")},
            {"title": "Change password", "link": lambda request: reverse("admin:password_change")},
        ]
    },
    "SIDEBAR": {"navigation": "config.navigation.sidebar"},
}

"""The admin's settings: its address, apps, middleware and appearance (docs/guides/admin.md)."""

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

NAME = "Content Access Licensing"  # what all pages are headed with
# The colours are those of brand/brand.css, by name.
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

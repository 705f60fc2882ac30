import re

from django.apps import AppConfig, apps
from django.contrib.admin import utils
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AppConfig):
    """The admin's pages. Models of operators are in `accounts`."""

    name = "operators"

    def ready(self) -> None:
        from operators.staff.roles import keep_roles  # noqa: PLC0415 - needs the models

        post_migrate.connect(keep_roles)
        leave_ids_as_they_are()
        name_models_of_staff()


def leave_ids_as_they_are() -> None:
    """Keep ids unquoted in URLs of the admin: `cnt_01…` instead of `cnt_5F01…`, which still works.

    Django quotes primary keys of arbitrary text. Here they are numbers, or ids of lower-case letters and digits with
    one underscore (kit.values.ids), so unquoted ones are unambiguous.
    """
    utils.QUOTE_MAP.clear()
    utils.UNQUOTE_RE = re.compile("_5F")


def name_models_of_staff() -> None:
    """Call users operators and groups roles. Migrations use Django's own classes and are unaffected."""
    for name, noun in (("User", "operator"), ("Group", "role")):
        options = apps.get_model("auth", name)._meta
        options.verbose_name = noun
        options.verbose_name_plural = f"{noun}s"


class OperatorAdminConfig(AdminConfig):
    """`django.contrib.admin` with this project's site."""

    default_site = "operators.site.OperatorSite"

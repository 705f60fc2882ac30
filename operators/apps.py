import re

from django.apps import AppConfig
from django.contrib.admin import utils
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AppConfig):
    """The pages of the admin. It has no models: those of operators are in `accounts`."""

    name = "operators"

    def ready(self) -> None:
        from operators.staff.roles import keep_roles  # noqa: PLC0415 - needs the models

        post_migrate.connect(keep_roles)
        leave_ids_as_they_are()


def leave_ids_as_they_are() -> None:
    """Addresses of the admin have ids as they are: `cnt_01…`, and not `cnt_5F01…`, which is understood still.

    Django quotes what a primary key of any text could hold. Here they are numbers, or ids of small letters and digits
    with one underscore (kit.values.ids), so nothing that was not quoted reads as if it were.
    """
    utils.QUOTE_MAP.clear()
    utils.UNQUOTE_RE = re.compile("_5F")


class OperatorAdminConfig(AdminConfig):
    """`django.contrib.admin` whose `admin.site` is the site of this project."""

    default_site = "operators.site.OperatorSite"

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AppConfig):
    """The pages of the admin. It has no models: those of operators are in `accounts`."""

    name = "operators"

    def ready(self) -> None:
        from operators.staff.roles import keep_roles  # noqa: PLC0415 - needs the models

        post_migrate.connect(keep_roles)


class OperatorAdminConfig(AdminConfig):
    """`django.contrib.admin` whose `admin.site` is the site of this project."""

    default_site = "operators.site.OperatorSite"

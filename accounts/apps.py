from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts import checks  # noqa: F401, PLC0415 - registers them
        from accounts.operators.roles import keep_roles  # noqa: PLC0415 - needs the models

        post_migrate.connect(keep_roles)

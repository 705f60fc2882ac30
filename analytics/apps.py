from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLite
from django.db.models.signals import post_migrate, pre_migrate


class AnalyticsConfig(AppConfig):
    name = "analytics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from analytics import registrations  # noqa: F401, PLC0415 - registers them
        from analytics.archive import system_checks  # noqa: F401, PLC0415 - as above
        from analytics.statements import database  # noqa: PLC0415 - as above, once the app is there

        connection_created.connect(database.add_functions, sender=SQLite)
        pre_migrate.connect(database.drop_views, sender=self)
        post_migrate.connect(database.make_views, sender=self)

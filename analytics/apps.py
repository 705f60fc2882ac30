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
        from analytics.statements import sql_view_migrations, sql_views  # noqa: PLC0415 - their models exist now

        connection_created.connect(sql_views.add_functions, sender=SQLite)
        pre_migrate.connect(sql_view_migrations.drop_views, sender=self)
        post_migrate.connect(sql_view_migrations.make_views, sender=self)

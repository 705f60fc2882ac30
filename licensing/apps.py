from django.apps import AppConfig


class LicensingConfig(AppConfig):
    name = "licensing"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from licensing import registrations  # noqa: F401, PLC0415 - registers them
        from licensing.visits import system_checks  # noqa: F401, PLC0415 - as above

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import system_checks  # noqa: F401, PLC0415 - registers them

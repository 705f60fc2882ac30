"""The product's source files."""

from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PRODUCT = ("accounts", "analytics", "config", "kit", "licensing", "operators")


def sources(*folders: str) -> list[Path]:
    """Return the modules of these folders in order, without migrations."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in paths if "migrations" not in path.parts]

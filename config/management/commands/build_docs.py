from pathlib import Path

import orjson
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from config.documentation.build import BuildError, build, digest
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Builds the documentation site that the service serves under /docs/."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--if-changed", action="store_true", help="Do nothing if the site is up to date.")

    def perform(self, *, if_changed: bool, **_: object) -> tuple[str, dict[str, object]]:
        site = settings.DOCS_SITE
        if if_changed and is_current(site):
            return "The documentation site is up to date.", {"object": "docs_site", "built": False}
        try:
            pages = build(site)
        except BuildError as error:
            raise CommandError(str(error)) from None
        return f"Built {pages} pages into {site}.", {"object": "docs_site", "built": True, "pages": pages}


def is_current(site: Path) -> bool:
    """Whether the site was built from the files as they are now."""
    try:
        built = orjson.loads((site / "build.json").read_bytes())
    except FileNotFoundError:
        return False
    return bool(built["sources"] == digest())

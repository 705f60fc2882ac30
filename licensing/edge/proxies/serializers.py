"""The file for a site's proxy as JSON."""

from rest_framework import serializers

from kit.rest.fields import Choice, Id
from kit.values.json_values import Rendered
from licensing.edge.proxies.files import KINDS, ProxyFile


class OmittedPatternSerializer(serializers.Serializer):
    """A pattern that everybody may read, but that does not stay open."""

    pattern = serializers.CharField(help_text="The pattern as the site has it.")
    reason = serializers.CharField(help_text="Why its pages do not stay open.")


class ProxyConfigSerializer(serializers.Serializer):
    """The file for a site's proxy."""

    object = Choice(choices=["proxy_config"])
    siteId = Id("site", help_text="The site.")
    proxy = Choice(choices=list(KINDS), help_text="The proxy that reads the file.")
    fileName = serializers.CharField(help_text="Usual name of the file.")
    content = serializers.CharField(help_text="The file, with a placeholder for the key.")
    openPatterns = serializers.ListField(
        child=serializers.CharField(),
        help_text="Patterns whose pages stay open while the service is down. `/*` includes pages without a pattern.",
    )
    omitted = OmittedPatternSerializer(many=True, help_text="Open patterns that do not stay open.")


def rendered_file(site_id: str, file: ProxyFile) -> Rendered:
    return {
        "object": "proxy_config",
        "siteId": site_id,
        "proxy": file.proxy,
        "fileName": file.name,
        "content": file.content,
        "openPatterns": list(file.open_patterns),
        "omitted": [{"pattern": pattern, "reason": reason} for pattern, reason in file.omitted],
    }

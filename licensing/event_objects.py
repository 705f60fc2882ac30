"""How events show what this app has."""

from accounts.events.objects import register
from licensing import examples
from licensing.content.serializers import ContentSerializer
from licensing.imports.importer import ImportSerializer
from licensing.licenses.serializers import LicenseSerializer, former_terms
from licensing.policies.serializers import PolicySerializer

register("content", ContentSerializer(), examples.CONTENT)
register("policy", PolicySerializer(), examples.POLICY)
register("license", LicenseSerializer(), examples.LICENSE, former_terms)
register("content_import", ImportSerializer(), examples.IMPORT)

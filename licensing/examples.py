"""The app's examples for the OpenAPI document: one publisher's story, from item to decision."""

from licensing.access import examples as access
from licensing.content import examples as content
from licensing.drafts import examples as drafts
from licensing.edge import examples as edge
from licensing.licenses import examples as licenses
from licensing.policies import examples as policies
from licensing.requesters import examples as requesters
from licensing.sites import examples as sites

OPERATIONS = {
    **policies.OPERATIONS,
    **content.OPERATIONS,
    **licenses.OPERATIONS,
    **requesters.OPERATIONS,
    **sites.OPERATIONS,
    **access.OPERATIONS,
    **drafts.OPERATIONS,
    **edge.OPERATIONS,
}

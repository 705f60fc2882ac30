"""Imports the app's models for Django; other code imports them from their own modules."""

from licensing import database_lookups  # registers the lookup `has`
from licensing.access.tokens.models import SigningKey
from licensing.clients.models import LicenseClient
from licensing.content.models import Content
from licensing.edge.verification.models import AddressName
from licensing.licenses.models import License
from licensing.policies.models import Policy, PolicyRevision
from licensing.portal.models import PortalSession
from licensing.requesters.models import FormerName, Requester
from licensing.sites.models import OtherHosts, Site, SiteAlias, SiteRule
from licensing.visits.models import EdgeUsage, Page, PageDay, ReferralDay, VisitorDay, VisitsCounted

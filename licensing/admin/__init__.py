"""What operators see of policies, content, requesters, licences and decisions."""

from licensing.admin import content, decisions, licenses, policies, requesters  # noqa: F401 - registers

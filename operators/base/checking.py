"""Permission for the Check access page."""

from django.http import HttpRequest

NEEDED = ("licensing.view_policy", "licensing.view_content")


def may_try(request: HttpRequest) -> bool:
    return request.user.has_perms(NEEDED)

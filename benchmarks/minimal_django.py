"""Minimal Django views: JSON in, JSON out, without middleware or database. A single-file project."""

import json

import django
from a2wsgi import WSGIMiddleware
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, JsonResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    MIDDLEWARE=[],
    ROOT_URLCONF=__name__,
    SECRET_KEY="none",  # noqa: S106 - nothing is signed
    USE_TZ=True,
)
django.setup()


def check(request: HttpRequest) -> JsonResponse:
    body = json.loads(request.body) if request.body else {}
    return JsonResponse({"allowed": body.get("requester", {}).get("hasValidLicense", False)})


async def check_on_the_loop(request: HttpRequest) -> JsonResponse:
    return check(request)


urlpatterns = [path("threads", check), path("loop", check_on_the_loop)]
in_threads = WSGIMiddleware(WSGIHandler(), workers=16)  # type: ignore[arg-type]
on_the_loop = ASGIHandler()

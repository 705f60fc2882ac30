"""The guides for API users: docs/guides/*.md as pages under /docs/guides/."""

from django.http import Http404, HttpRequest, HttpResponse

from config.markdown import NAMES, guide, titles
from config.pages import page


def index(request: HttpRequest) -> HttpResponse:
    return page(request, "guides.html", "guides", guides=titles())


def show(request: HttpRequest, name: str) -> HttpResponse:
    if name not in NAMES:
        raise Http404
    title, html = guide(name)
    return page(request, "guide.html", "guides", title=title, html=html)

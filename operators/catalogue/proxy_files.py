"""The page with the files for a site's proxy, to download."""

from io import BytesIO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase

from licensing.edge.proxies.descriptions import describe
from licensing.edge.proxies.files import KINDS, proxy_file
from licensing.sites.models import Site
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.mixins import AdminMixin


def proxy_files_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    """Show each proxy with what to fill in, and the pages that stay open while the service is down."""
    return page(
        request,
        model_admin,
        "operators/catalogue/proxy_files.html",
        title=f"Proxy files of {site.host}",
        original=site,
        proxies=KINDS,
        pages=describe(site),
        back=change_url(site),
    )


def proxy_file_download(site: Site, proxy: str) -> HttpResponseBase:
    """Return the file as an attachment. Raises Http404 for an unknown proxy."""
    if proxy not in KINDS:
        raise Http404
    file = proxy_file(site, proxy)
    content = BytesIO(file.content.encode())
    return FileResponse(content, as_attachment=True, filename=file.name, content_type="text/plain; charset=utf-8")

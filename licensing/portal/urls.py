from django.urls import path

from licensing.portal import pages

urlpatterns = [
    path("", pages.overview, name="portal"),
    path("end", pages.end, name="portal-end"),
    path("statements/<str:id>", pages.statement, name="portal-statement"),
    path("<str:token>", pages.link, name="portal-link"),
]

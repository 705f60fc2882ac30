from django.urls import path

from licensing.license_server import views

urlpatterns = [path("token", views.token), path("introspect", views.introspect)]

from django.urls import path

from accounts import views

urlpatterns = [
    path("api-keys", views.ApiKeys.as_view()),
    path("api-keys/<str:id>", views.ApiKeyById.as_view()),
    path("api-keys/<str:id>/rotate", views.ApiKeyRotation.as_view()),
]

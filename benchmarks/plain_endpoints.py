"""/v1/content as a project would write it in a day: a ModelViewSet on the service's tables, without its promises.

It has the service's filters by django-filter's backend, and keys and plan limits as in benchmarks/plain_check.py. It
has no ETags, retries, cursors, item stats, audit log or events.
"""

from typing import Any

from django.urls import path
from django.utils import timezone
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import serializers
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ModelViewSet

from benchmarks.plain_check import KeyAuthentication, PlanThrottle, ready
from licensing.content.models import Content
from licensing.content.views import ContentFilters
from licensing.policies.models import Policy


class MayDo(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        needed = "content:read" if request.method == "GET" else "content:write"
        return not {"*", needed}.isdisjoint(request.auth.permissions)


class ContentSerializer(serializers.ModelSerializer):
    policy = serializers.PrimaryKeyRelatedField(queryset=Policy.objects.all(), required=False, allow_null=True)

    class Meta:
        model = Content
        exclude = ("account", "source_key", "page_key", "deleted_at")
        read_only_fields = ("created", "updated")


class ContentViewSet(ModelViewSet):
    authentication_classes = (KeyAuthentication,)
    permission_classes = (MayDo,)
    throttle_classes = (PlanThrottle,)
    filter_backends = (DjangoFilterBackend,)
    filterset_class = ContentFilters
    pagination_class = LimitOffsetPagination
    serializer_class = ContentSerializer
    queryset = Content.objects.order_by("-created", "-id")

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(account_id=self.request.auth.account_id, deleted_at=None)

    def perform_create(self, serializer: Any) -> None:
        now = timezone.now()
        serializer.save(account_id=self.request.auth.account_id, created=now, updated=now)


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("v1/content", ContentViewSet)
urlpatterns = [*router.urls, path("readyz", ready)]

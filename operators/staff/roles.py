"""The built-in roles, each a group with only the permissions that its work needs.

`migrate` updates them, so that models of a new version are included. Create further groups for other permissions.
"""

from django.apps import AppConfig
from django.apps import apps as registered
from django.apps.registry import Apps
from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import DEFAULT_DB_ALIAS, transaction

from operators.base.model_admin import ScopedAdmin

VIEWER, EDITOR, KEY_MANAGER = "Viewer", "Editor", "Key manager"

# Models for superusers only: operators' own data and internals.
SUPERUSER_MODELS = {"staffscope", "idempotencyrecord", "authenticator", "recoverycode"}
KEY_MODELS = {"account", "apikey"}
SECRET_MODELS = {"apikey", "webhookendpoint"}  # models whose secrets are shown once


def role_may(role: str, app: str, action: str, model: str) -> bool:
    """Whether the role has the permission "<app>.<action>_<model>"."""
    if model in SUPERUSER_MODELS:
        return False
    if role == KEY_MANAGER:
        return (app == "accounts" and model in KEY_MODELS and action == "view") or model in SECRET_MODELS
    if action == "view":
        return True
    return role == EDITOR and app != "accounts" and f"{action}_{model}" in used_permissions()


def used_permissions() -> set[str]:
    """Return the codenames of permissions that pages of the admin use."""
    admins = [model_admin for model_admin in admin.site._registry.values() if isinstance(model_admin, ScopedAdmin)]
    return {
        get_permission_codename(action, model_admin.opts)
        for model_admin in admins
        for action in model_admin.grantable()
    }


@transaction.atomic
def keep_roles(
    sender: AppConfig,
    *,
    using: str = DEFAULT_DB_ALIAS,
    apps: Apps = registered,
    verbosity: int = 0,
    **kwargs: object,
) -> None:
    """Grant the roles their permissions on an app's models, after its migration."""
    if sender.name not in ("accounts", "licensing", "analytics"):
        return
    create_permissions(
        sender, verbosity=verbosity, using=using, apps=apps
    )  # auth's own receiver of this signal runs later
    permissions = Permission.objects.filter(content_type__app_label=sender.label)
    for role in (VIEWER, EDITOR, KEY_MANAGER):
        group, _ = Group.objects.get_or_create(name=role)
        granted = [
            permission
            for permission in permissions
            if role_may(role, sender.label, *permission.codename.split("_", maxsplit=1))
        ]
        group.permissions.remove(*(permission for permission in permissions if permission not in granted))
        group.permissions.add(*granted)

"""The roles that every installation has, each a group with no more rights than its work needs.

`migrate` keeps them up to date, so that the models of a new version come with their permissions. Other rights are for
groups of one's own beside these.
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

# Models for superusers only: those about operators themselves, and internal ones.
PRIVATE = {"staffscope", "idempotencyrecord", "authenticator", "recoverycode"}
OF_KEYS = {"account", "apikey"}
OF_SECRETS = {"apikey", "webhookendpoint"}  # models whose secrets are shown once


def rights(role: str, app: str, action: str, model: str) -> bool:
    """Whether the role has the permission "<app>.<action>_<model>"."""
    if model in PRIVATE:
        return False
    if role == KEY_MANAGER:
        return (app == "accounts" and model in OF_KEYS and action == "view") or model in OF_SECRETS
    if action == "view":
        return True
    return role == EDITOR and app != "accounts" and f"{action}_{model}" in asked_for()


def asked_for() -> set[str]:
    """The codenames of the permissions that some page of the admin requires."""
    admins = [one for one in admin.site._registry.values() if isinstance(one, ScopedAdmin)]
    return {get_permission_codename(action, one.opts) for one in admins for action in one.grantable()}


@transaction.atomic
def keep_roles(
    sender: AppConfig,
    *,
    using: str = DEFAULT_DB_ALIAS,
    apps: Apps = registered,
    verbosity: int = 0,
    **kwargs: object,
) -> None:
    """Gives the roles their permissions on the models of one app, after its migration."""
    if sender.name not in ("accounts", "licensing", "analytics"):
        return
    create_permissions(
        sender, verbosity=verbosity, using=using, apps=apps
    )  # auth's own receiver of this signal comes later
    permissions = Permission.objects.filter(content_type__app_label=sender.label)
    for role in (VIEWER, EDITOR, KEY_MANAGER):
        group, _ = Group.objects.get_or_create(name=role)
        granted = [
            permission
            for permission in permissions
            if rights(role, sender.label, *permission.codename.split("_", maxsplit=1))
        ]
        group.permissions.remove(*(permission for permission in permissions if permission not in granted))
        group.permissions.add(*granted)

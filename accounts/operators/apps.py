from django.contrib.admin.apps import AdminConfig


class OperatorAdminConfig(AdminConfig):
    """`django.contrib.admin` whose `admin.site` is the site of this project."""

    default_site = "accounts.operators.site.OperatorSite"

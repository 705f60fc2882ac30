"""What a mixin of a ModelAdmin may call by `super()`; it is put before the ModelAdmin itself."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin as AdminMixin
else:
    AdminMixin = object

__all__ = ["AdminMixin"]

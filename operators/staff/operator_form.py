"""The form of an operator. Prevents removing the last active superuser."""

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q
from unfold.forms import UserChangeForm

OWN = {
    "is_active": "You cannot deactivate yourself. Ask another superuser.",
    "is_superuser": "You cannot remove your own superuser status. Ask another superuser.",
}
LAST = "This is the last active superuser. Create another one first."


class OperatorForm(UserChangeForm):
    editor: User  # the operator who edits

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean()
        # Locks in one order, so that two superusers cannot deactivate each other at once.
        superusers = Q(is_superuser=True, is_active=True)
        locked = User.objects.select_for_update().filter(superusers | Q(pk=self.instance.pk)).order_by("pk")
        others = [user for user in locked if user.is_superuser and user.is_active and user.pk != self.instance.pk]
        for name, message in OWN.items():
            if name in self.fields and not self.cleaned_data.get(name, True) and self.initial[name]:
                if self.instance.pk == self.editor.pk:
                    self.add_error(name, forms.ValidationError(message))
                elif not others and self.initial["is_superuser"]:
                    self.add_error(name, forms.ValidationError(LAST))
        return cleaned

"""What every ModelAdmin of this project is built on.

ScopedAdmin shows what belongs to the accounts that the member of staff may see, in pages that never count or load a
whole table. ServiceAdmin also writes, by the service functions that the endpoints call too, so that epochs are bumped
and the audit sees it. What is dangerous asks first: `confirmation.confirm`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import NON_FIELD_ERRORS, BadRequest
from django.db import DataError, IntegrityError
from django.db.models import BinaryField, ForeignKey, Model, QuerySet
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.views import ChangeList

from accounts.models import Account
from operators.base import tickets
from operators.base.fields import changed_values
from operators.base.history import AuditedHistory
from operators.base.paging import BoundedPaginator
from operators.base.refusals import REFUSALS, Refused, refusal, show_refusal
from operators.base.requests import kept
from operators.base.scope import request_scope
from operators.base.stale_forms import StaleFormGuard


def without_window(field: Any) -> Any:
    """The field without the buttons that open what is chosen in a window of its own: no key reaches them."""
    if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
        field.widget = field.widget.widget
    return field


class BoundedChangeList(ChangeList):
    """Says "so many of all" only where something was searched for or filtered."""

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
        except (ValueError, DataError) as error:  # such as an id that cannot be one
            raise IncorrectLookupParameters(error) from error
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count


class ScopedAdmin(ModelAdmin):
    """Shows a model and changes nothing."""

    account_field: ClassVar[str] = "account_id"  # the way from the model to its account's id

    rights: ClassVar[dict[str, str]] = {}  # the permission that a field takes which shows another model's rows

    ordering: tuple[str, ...] = (
        "-pk",
    )  # newest first, ids being sorted by time; also the one order that every table has an index for
    list_select_related: tuple[str, ...] = ()
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    list_filter_submit = True
    warn_unsaved_form = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What the member of staff may see, with what list_select_related names: single pages show that too."""
        rows = super().get_queryset(request)
        if self.list_select_related:
            rows = rows.select_related(*self.list_select_related)
        return request_scope(request).narrow(rows, self.account_field)

    @display(description="Id")
    def identifier(self, obj: Model) -> str:
        return str(obj.pk)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Who sees one account need not read its name in every row."""
        columns = tuple(super().get_list_display(request))
        if request_scope(request).only_account() is None:
            return columns
        return tuple(name for name in columns if name != "account")

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """The object that an action's address names. Raises Http404 for one out of the scope."""
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        return obj

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Nobody tries out in the address what a digest begins with."""
        binary = {field.name for field in self.model._meta.fields if isinstance(field, BinaryField)}
        return lookup.partition("__")[0] not in binary and super().lookup_allowed(lookup, value, request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return BoundedChangeList

    def formfield_for_foreignkey(self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any) -> Any:
        """Offers only what the member of staff may see. Where there can be many, name it in autocomplete_fields."""
        related = db_field.remote_field.model
        if related is Account:
            kwargs["queryset"] = request_scope(request).accounts()
            kwargs.setdefault("initial", request_scope(request).sole_account())
        elif isinstance(shown := self.admin_site._registry.get(related), ScopedAdmin):
            kwargs["queryset"] = shown.get_queryset(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return without_window(super().formfield_for_dbfield(db_field, request, **kwargs))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        raise Http404

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never Django's own deletion: it goes round the services, and loads all that would go with the row."""
        return False

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        lacking = {field for field, permission in self.rights.items() if not request.user.has_perm(permission)}
        return [
            (title, {**options, "fields": [field for field in options["fields"] if field not in lacking]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def grantable(self) -> frozenset[str]:
        """The rights to the model that some page asks for: "view", "add", "change", "delete"."""
        return frozenset({"view"})

    # For actions. Named by itself ("accounts.change_apikey") a permission would be looked for in the database by the
    # system checks, which run before there is one.

    def has_changing_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return super().has_change_permission(request)

    def has_deleting_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return super().has_delete_permission(request)


class ServiceAdmin(StaleFormGuard, AuditedHistory, ScopedAdmin):
    """Writes by the services: `create` and `update` call them, with what the form says.

    What they refuse (ApiError, a serializer's or Django's ValidationError) is shown at the form's field. Without an
    `update` nothing can be edited.
    """

    api_names: ClassVar[dict[str, str]] = {}  # the form's fields by the API's names, where snake_case is not enough

    # The fields have the new object's id too, as `id`: see operators.base.tickets.
    create: Callable[[HttpRequest, dict[str, Any]], Model]
    # The last are the fields that the operator changed alone. What somebody else changed while the form was open is
    # refused before: see operators.base.stale_forms.
    update: Callable[[HttpRequest, Any, dict[str, Any]], Model] | None = None

    def grantable(self) -> frozenset[str]:
        names = {"view"}
        if getattr(self, "create", None) is not None:
            names.add("add")
        asked = {"change"} if self.update is not None else set()
        for action in (*self.actions_detail, *self.actions_list, *self.actions):
            asked.update(getattr(getattr(self, action, None), "allowed_permissions", ()))
        if asked & {"change", "changing"}:
            names.add("change")
        if "deleting" in asked:
            names.add("delete")
        return frozenset(names)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super(ScopedAdmin, self).has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.update is not None and super(ScopedAdmin, self).has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        saved = obj
        try:
            if not change:
                saved = self.create(request, {**form.cleaned_data, "id": kept(request).new_id})
            elif self.update and (changed := changed_values(form)):
                saved = self.update(request, obj, changed)
        except REFUSALS as error:
            raise refusal(error, self.api_names) from error
        obj.__dict__.update(saved.__dict__)  # the caller goes on with what was written

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing: the service has written it all."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if "_saveasnew" in request.POST:  # which Django does wherever somebody asks, with a form that has no ticket
            raise BadRequest("A copy cannot be saved.")
        new_id = None
        if object_id is None and self.has_add_permission(request):
            ticket = request.POST.get("ticket", "")
            new_id = tickets.id_of(ticket, self.model)
            if request.method == "POST" and new_id is None:
                kept(request).refused = Refused({NON_FIELD_ERRORS: [tickets.TOO_OLD]})
            elif new_id is not None and tickets.is_used(self.model, new_id):
                return self.made_already(request, new_id)
            kept(request).new_id = new_id
            extra_context = {**(extra_context or {}), "ticket": ticket if new_id else tickets.new_ticket(self.model)}
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (Refused, IntegrityError) as error:
            # The transaction is rolled back. Of two copies of a form under way at once this may be the second.
            if new_id is not None and tickets.is_used(self.model, new_id):
                return self.made_already(request, new_id)
            if isinstance(error, IntegrityError):
                raise
            # The same request again shows the form with what was entered.
            kept(request).refused = error
            return super().changeform_view(request, object_id, form_url, extra_context)

    def made_already(self, request: HttpRequest, pk: str) -> HttpResponse:
        text = f"The form was sent twice, and made this {self.opts.verbose_name} once."
        self.message_user(request, text, messages.WARNING)
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", quote(pk))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        refused = getattr(request, "refused", None)
        return show_refusal(form, refused) if refused else form

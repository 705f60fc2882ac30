"""The bases of every ModelAdmin in this project.

ScopedAdmin shows rows of the accounts that the member of staff may see, in pages that never count or load a whole
table. ServiceAdmin also writes, through the same services as the API, so that epochs and audit log stay correct.
Dangerous actions ask first (`confirmation.confirmed_action`).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import NON_FIELD_ERRORS, BadRequest
from django.db import IntegrityError
from django.db.models import BinaryField, Field, ForeignKey, Model, QuerySet
from django.forms import BaseModelFormSet, ModelChoiceField, ModelForm
from django.forms import Field as FormField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.views import ChangeList

from accounts.models import Account
from operators.base import scope, tickets
from operators.base.fields import Values, changed_values
from operators.base.forms.stale_forms import StaleFormGuard
from operators.base.history import AuditedHistory
from operators.base.links import with_copy_button
from operators.base.lists.change_list import BoundedChangeList, BoundedPaginator
from operators.base.lists.saved_filters import SavedFilters
from operators.base.mixins import FormPage, ModelT, ServiceForm
from operators.base.pages import EmptyState
from operators.base.refusals import REFUSALS, FormErrors, refusal
from operators.base.related import RelatedInput, without_window
from operators.base.requests import admin_request

if TYPE_CHECKING:
    from django.contrib.admin.options import _FieldsetSpec
    from django.utils.functional import _StrOrPromise

# A single save button, because the others lead to another page.
ONE_BUTTON = {"show_save_and_add_another": False, "show_save_and_continue": False}


class ScopedAdmin(SavedFilters[ModelT], FormPage[ModelT], ModelAdmin):
    """A read-only ModelAdmin, restricted to the accounts that the member of staff may see."""

    account_field: ClassVar[str] = "account_id"  # lookup from the model to its account's id
    rights: ClassVar[dict[str, str]] = {}  # permissions by the fields that show another model's rows
    fieldset_headings: ClassVar[Mapping[str, str]] = {}  # headings of a form's groups, by the first field of each
    words_instead: ClassVar[Mapping[str, str]] = {}  # columns in the place of fields that cannot be changed
    optional: ClassVar[frozenset[str]] = frozenset()  # fields that may stay empty because the service fills them in
    empty_state: ClassVar[EmptyState]  # of the list
    search: ClassVar[Callable[..., QuerySet] | None] = None  # searches rows by a term, instead of in `search_fields`

    # On a narrow screen a row has two lines: a name, and facts, each with a prefix if needed. One of them is the
    # column that links to the object.
    phone_row_title: ClassVar[str] = ""  # the first column by default
    phone_row_columns: ClassVar[Mapping[str, str]] = {}

    # newest first, because ids sort by time; also the only order with an index on every table
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    list_select_related: ClassVar[tuple[str, ...]] = ()
    changelist_class: ClassVar[type[BoundedChangeList]] = BoundedChangeList
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    list_filter_submit = True
    warn_unsaved_form = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[ModelT]:
        """Return the rows that the member of staff may see, with list_select_related, also for single pages.

        Lists are restricted to the chosen account (operators.base.scope).
        """
        rows = super().get_queryset(request)
        if self.list_select_related:
            rows = rows.select_related(*self.list_select_related)
        rows = scope.request_scope(request).narrow(rows, self.account_field)
        if self.model is Account or not scope.shows_chosen_account_only(request):
            return rows
        account_id = scope.listed_account_id(request)
        return rows if account_id is None else rows.filter(**{self.account_field: account_id})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        with scope.chosen_account_only(request):
            return super().get_changelist_instance(request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ModelT], search_term: str
    ) -> tuple[QuerySet[ModelT], bool]:
        if self.search is None:
            return super().get_search_results(request, queryset, search_term)
        term = search_term.strip()
        return (self.search(queryset, term) if term else queryset), False

    @display(description="Id")
    def identifier(self, obj: Model) -> str:
        return with_copy_button(str(obj.pk))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        changelist = (getattr(response, "context_data", None) or {}).get("cl")
        if not isinstance(changelist, BoundedChangeList):
            return response
        if not changelist.result_list:
            changelist.empty_state = self.empty_state.render(request)
            changelist.is_narrowed = self.model is not Account and scope.listed_account_id(request) is not None
        if changelist.unsorted:
            self.message_user(request, changelist.unsorted, messages.INFO)
        return response

    def get_list_display(self, request: HttpRequest) -> tuple[str | Callable[[ModelT], str | bool], ...]:
        """Omit the account column if there is only one account."""
        columns = tuple(super().get_list_display(request))
        assigned_id = scope.request_scope(request).only_assigned_account_id()
        if assigned_id is None and scope.listed_account_id(request) is None:
            return columns
        return tuple(name for name in columns if name != "account")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Reject filters by digest, because its characters could be guessed one by one in the URL."""
        binary = {field.name for field in self.model._meta.fields if isinstance(field, BinaryField)}
        return lookup.partition("__")[0] not in binary and super().lookup_allowed(lookup, value, request)

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return self.changelist_class

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: object
    ) -> ModelChoiceField | None:
        """Offer only rows that the member of staff may see. If there can be many, use autocomplete_fields."""
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs["widget"] = RelatedInput(db_field, self.admin_site)
        related = db_field.remote_field.model
        if related is Account:
            visible = scope.request_scope(request)
            kwargs["queryset"] = visible.accounts()
            kwargs.setdefault("initial", scope.chosen_account_id(request) or visible.only_visible_account_id())
        elif isinstance(related_admin := self.admin_site._registry.get(related), ScopedAdmin):
            kwargs["queryset"] = related_admin.get_queryset(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: object) -> FormField | None:
        if db_field.name in self.optional:
            kwargs["required"] = False
        return without_window(super().formfield_for_dbfield(db_field, request, **kwargs))

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        raise Http404

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ModelT | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ModelT | None = None) -> bool:
        """Disable Django's own deletion: it bypasses the services and loads every dependent row."""
        return False

    def get_fieldsets(self, request: HttpRequest, obj: ModelT | None = None) -> "_FieldsetSpec":
        """Leave out fields without permission, and begin a group at each of `fieldset_headings`."""
        words: Mapping[str, str] = {}
        if self.words_instead and obj is not None and not self.has_change_permission(request, obj):
            words = self.words_instead
        groups: list[tuple[_StrOrPromise | None, list[str]]] = []
        for title, options in super().get_fieldsets(request, obj):
            groups.append((title, []))
            for field in map(str, options["fields"]):
                if field in self.rights and not request.user.has_perm(self.rights[field]):
                    continue
                if field in self.fieldset_headings:
                    groups.append((self.fieldset_headings[field], []))
                groups[-1][1].append(words.get(field, field))
        return [(title, {"fields": tuple(fields)}) for title, fields in groups if fields]

    def grantable(self) -> frozenset[str]:
        """Return the model permissions that its pages use: "view", "add", "change", "delete"."""
        return frozenset({"view"})

    # For actions. System checks would look up a permission's full name ("accounts.change_apikey") in the database,
    # before it exists.

    def has_changing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return super().has_change_permission(request)

    def has_deleting_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return super().has_delete_permission(request)


class ServiceAdmin(StaleFormGuard[ModelT], AuditedHistory[ModelT], ScopedAdmin[ModelT]):
    """Writes through services: `create` and `update` receive the form's cleaned data.

    Errors (ApiError, a serializer's or Django's ValidationError) are shown at the form's field. Without `update`
    nothing can be edited.
    """

    shows_secret: ClassVar[bool] = False  # the reply to a new object is the only page with its secret

    # Both get the service's arguments. Those of a new object include its `account`, and its `id`, see
    # operators.base.tickets.
    create: Callable[[HttpRequest, Values], ModelT]
    # Receives only changed fields. Forms made stale by another's change are rejected earlier, see
    # operators.base.forms.stale_forms.
    update: Callable[[HttpRequest, ModelT, Values], ModelT] | None = None

    def get_readonly_fields(self, request: HttpRequest, obj: ModelT | None = None) -> tuple[str, ...]:
        """Return the fields of an existing object that the form does not have."""
        if obj is None:
            return ()
        editable = self.form.base_fields.keys() - {"account"}
        return tuple(name for name in flatten_fieldsets(self.get_fieldsets(request, obj)) if name not in editable)

    def grantable(self) -> frozenset[str]:
        used = {"view"}
        if getattr(self, "create", None) is not None:
            used.add("add")
        if self.update is not None:
            used.add("change")
        for action in chain(self.actions_detail, self.actions_list, self.actions or ()):
            used.update(getattr(getattr(self, action, None), "allowed_permissions", ()))
        if "changing" in used:
            used.add("change")
        if "deleting" in used:
            used.add("delete")
        return frozenset(used & {"view", "add", "change", "delete"})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super(ScopedAdmin, self).has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: ModelT | None = None) -> bool:
        return self.update is not None and super(ScopedAdmin, self).has_change_permission(request, obj)

    def write_form(self, request: HttpRequest, form: ServiceForm, obj: ModelT | None) -> ModelT | None:
        """Write through the service and return the object, or None if nothing changed. `obj` is the stored one."""
        if obj is None:
            fields = form.service_fields(form.cleaned_data)
            fields |= {"account": form.cleaned_data.get("account"), "id": admin_request(request).new_id}
            return self.create(request, fields)
        changed = changed_values(form)
        if changed and self.update:
            return self.update(request, obj, form.service_fields(changed))
        return None

    def save_model(self, request: HttpRequest, obj: ModelT, form: ServiceForm, change: bool) -> None:
        try:
            saved = self.write_form(request, form, obj if change else None)
        except REFUSALS as error:
            raise refusal(error, form.names_in_form()) from error
        if saved is not None:
            vars(obj).update(vars(saved))  # the caller continues with the written values

    def save_related(
        self, request: HttpRequest, form: ModelForm, formsets: Sequence[BaseModelFormSet], change: bool
    ) -> None:
        """Do nothing: the service has written everything."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        if "_saveasnew" in request.POST:  # Django accepts it on any form, but the copy would have no ticket
            raise BadRequest("A copy cannot be saved.")
        new_id = None
        if object_id is None and self.has_add_permission(request):
            ticket = request.POST.get("ticket", "")
            new_id = tickets.read_ticket(ticket, self.model)
            if request.method == "POST" and new_id is None:
                admin_request(request).refused = FormErrors({NON_FIELD_ERRORS: [tickets.TOO_OLD]})
            elif new_id is not None and tickets.is_used(self.model, new_id):
                return self.made_already(request, new_id)
            admin_request(request).new_id = new_id
            extra_context = {**(extra_context or {}), "ticket": ticket if new_id else tickets.new_ticket(self.model)}
            if self.shows_secret:
                extra_context |= ONE_BUTTON
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (FormErrors, IntegrityError) as error:
            # The transaction is rolled back. This may be the second of two identical forms sent at once.
            if new_id is not None and tickets.is_used(self.model, new_id):
                return self.made_already(request, new_id)
            if isinstance(error, IntegrityError):
                raise
            # Handle the request again to show the form with its input.
            admin_request(request).refused = error
            return super().changeform_view(request, object_id, form_url, extra_context)

    def made_already(self, request: HttpRequest, pk: str) -> HttpResponse:
        text = f"The form was sent twice, and made this {self.opts.verbose_name} once."
        self.message_user(request, text, messages.WARNING)
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", pk)

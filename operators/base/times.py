"""Times in the operator's time zone, which operators.middleware activates, and a form field for them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django import forms
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.timezone import get_current_timezone, get_current_timezone_name
from unfold.widgets import UnfoldAdminSplitDateTimeWidget

from kit.values.time_zones import zone_names

TO_DAY, TO_MINUTE, TO_SECOND = "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"


def zone_choices() -> Iterator[tuple[str, str]]:
    return ((name, name) for name in sorted(zone_names()))


def local_time(moment: datetime) -> datetime:
    """Convert to the operator's time zone. A time that the calendar does not have there stays in UTC."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment


def shown_time(moment: datetime, style: str = TO_MINUTE) -> SafeString:
    """Return the local time, with its offset where the clocks go back and it occurs twice."""
    utc, local = moment.astimezone(UTC), local_time(moment)
    offset = local.isoformat()[-len("+01:00") :] if style != TO_DAY and is_repeated(local) else ""
    return format_html(
        '<time datetime="{}" title="{} UTC">{}{}</time>',
        f"{utc:%Y-%m-%dT%H:%M:%SZ}",
        f"{utc:{TO_SECOND}}",
        f"{local:{style}}",
        offset,
    )


def time_in_words(moment: datetime, style: str = TO_MINUTE) -> str:
    """Return the time with its zone, as in "2026-11-26 20:52 CET", for text without hover."""
    return f"{local_time(moment):{style} %Z}"


def time_filter(field: str, first: datetime, last: datetime) -> dict[str, str]:
    """Return the query of a LocalDateTimeFilter (operators.base.filters), without the times of day it assumes."""
    query = {}
    for end, moment, assumed in (("from", local_time(first), time.min), ("to", local_time(last), time.max)):
        query[f"{field}_{end}_0"] = f"{moment:{TO_DAY}}"
        if moment.time() != assumed:
            query[f"{field}_{end}_1"] = moment.time().isoformat()
    return query


class ClockTimeField(forms.TimeField):
    """A time of day. One that occurs twice on a day, because the clocks go back, may have an offset: 02:30+01:00."""

    def __init__(self) -> None:
        super().__init__(required=False, input_formats=["%H:%M:%S", "%H:%M", "%H:%M:%S%z", "%H:%M%z"])

    def strptime(self, value: str, format: str) -> time:  # noqa: A002
        return datetime.strptime(value, format).timetz()  # noqa: DTZ007 - LocalDateTimeField adds the zone


class LocalDateTimeWidget(UnfoldAdminSplitDateTimeWidget):
    def decompress(self, value: datetime | None) -> tuple[date | None, time | str | None]:
        """Split into the local date and time. Adds the offset to a time that occurs twice."""
        if value is None:
            return None, None
        local = local_time(value)
        at = with_offset(local, "seconds") if is_repeated(local) else local.time()
        return local.date(), at


class LocalDateTimeField(forms.SplitDateTimeField):
    """A date with an optional time, in the operator's time zone. Returns it in UTC.

    Without a time it means the start of the day, or its end with `ends`. Dates with slashes are refused: readers
    disagree whether the day or the month comes first.
    """

    def __init__(self, *, ends: bool = False, label: str | None = None, help_text: str = "") -> None:
        super().__init__(
            required=False,
            widget=LocalDateTimeWidget,
            label=label,
            help_text=format_lazy("{}. {}", lazy(get_current_timezone_name, str)(), help_text),
            input_date_formats=["%Y-%m-%d", "%d.%m.%Y"],
            error_messages={"invalid_date": "Enter a valid date. Write it as 2026-12-31 or 31.12.2026."},
        )
        self.fields = (self.fields[0], ClockTimeField())
        self.ends = ends

    def compress(self, data_list: tuple[date | None, time | None] | None) -> datetime | None:
        if not data_list:
            return None
        day, at = data_list
        if not day:
            raise forms.ValidationError(self.error_messages["invalid_date"], code="invalid_date")
        zone = get_current_timezone()
        if at is None:
            start = day + timedelta(days=1) if self.ends and day < date.max else day
            local = datetime.combine(start, time(), zone)  # if midnight is skipped, this is the first time after it
        elif at.tzinfo is not None:
            local = datetime.combine(day, at)
        else:
            local = datetime.combine(day, at, zone)
            check_local_time(local)
        try:
            return local.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid_date"], code="invalid_date") from None


def with_offset(local: datetime, timespec: str) -> str:
    """Return the time of day with its offset, such as 02:30+01:00."""
    return local.isoformat(timespec=timespec).partition("T")[2]


def is_repeated(local: datetime) -> bool:
    """Whether the local time occurs twice, because the clocks go back."""
    first = local.replace(fold=0).utcoffset()
    second = local.replace(fold=1).utcoffset()
    return first is not None and second is not None and first > second


def check_local_time(local: datetime) -> None:
    """Raise Django's ValidationError for a local time that does not exist, or occurs twice."""
    first = local
    second = local.replace(fold=1)
    if first.utcoffset() == second.utcoffset():
        return
    zone = get_current_timezone_name()
    local_text = f"{local:%Y-%m-%d %H:%M}"
    if is_repeated(local):
        ways = " or ".join(with_offset(moment, "minutes") for moment in (first, second))
        raise forms.ValidationError(
            f"{local_text} occurs twice in {zone}: the clocks go back. Write the time as {ways}."
        )
    raise forms.ValidationError(f"{local_text} does not exist in {zone}: the clocks go forward. Choose another time.")

from django.db import migrations

COLUMNS = {"year": [f"m{number}" for number in range(1, 13)], "month": [f"d{number}" for number in range(1, 32)]}


def convert(one, period, totals):
    """All expressions of an UPDATE see the row as it was."""
    columns = COLUMNS[period]
    sets = ", ".join(f"{column} = {totals(columns, place)}" for place, column in enumerate(columns) if place)
    return f"UPDATE analytics_{one}{period} SET {sets}"


def running(columns, place):
    return " + ".join(columns[: place + 1])


def single(columns, place):
    return f"{columns[place]} - {columns[place - 1]}"


class Migration(migrations.Migration):

    dependencies = [
        ('analytics', '0008_words'),
    ]

    operations = [
        *(
            migrations.RunSQL(convert(one, period, running), convert(one, period, single))
            for one in ("content", "requester")
            for period in COLUMNS
        ),
        migrations.RemoveField(
            model_name='contentyear',
            name='requests',
        ),
        migrations.RemoveField(
            model_name='requesteryear',
            name='requests',
        ),
    ]

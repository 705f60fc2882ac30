"""Foreign keys that the database does not check."""

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    Reference = models.ForeignKey
else:

    class Reference(models.ForeignKey):
        """A foreign key without constraint and index: checks would cost a lookup for each decision.

        Rows that it names may be deleted. Indexes begin with it where a query needs them.
        """

        def __init__(self, to, on_delete=models.DO_NOTHING, **options):
            super().__init__(to, on_delete, **{"db_constraint": False, "db_index": False, **options})

        def deconstruct(self):
            name, _, args, kwargs = super().deconstruct()
            return name, "django.db.models.ForeignKey", args, kwargs

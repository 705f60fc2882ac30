from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("licensing", "0038_index_of_fees")]

    operations = [
        migrations.SeparateDatabaseAndState(  # the database has no default of this column
            state_operations=[
                migrations.AlterField(
                    model_name="site",
                    name="mode",
                    field=models.CharField(
                        choices=[("enforce", "enforce"), ("observe", "observe"), ("disabled", "disabled")],
                        default="observe",
                        max_length=10,
                    ),
                ),
            ],
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('licensing', '0016_visits'),
    ]

    operations = [
        migrations.AddField(
            model_name='policy',
            name='tests',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name='policyrevision',
            name='tests',
            field=models.JSONField(default=list),
        ),
    ]

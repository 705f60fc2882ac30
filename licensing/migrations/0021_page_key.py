from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("licensing", "0020_other_hosts")]

    operations = [
        migrations.AddField("content", "page_key", models.BinaryField(editable=False, max_length=16, null=True)),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0011_saved_filters'),
    ]

    operations = [
        migrations.CreateModel(
            name='EpochChange',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'epoch', blank=True, editable=False, primary_key=True, serialize=False)),
                ('epoch', models.BigIntegerField()),
                ('names', models.JSONField(null=True)),
                ('created', models.DateTimeField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]

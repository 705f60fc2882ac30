import kit.values.ids
import kit.values.numbers
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

TABLE = "accounts_auditentry"
MESSAGE = "The audit log only grows: an entry is neither changed nor deleted."

# Django remakes a table on SQLite to alter it, and its triggers go with the old one: a later migration of this table
# must make them again. A test looks for them.
SQLITE = [
    f"CREATE TRIGGER audit_log_refuses_{name} BEFORE {name} ON {TABLE} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    for name in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    f"""CREATE FUNCTION refuse_to_change_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION USING MESSAGE = '{MESSAGE}', ERRCODE = 'restrict_violation'; END $$""",
    f"""CREATE TRIGGER audit_log_refuses_changes BEFORE UPDATE OR DELETE ON {TABLE}
    FOR EACH ROW EXECUTE FUNCTION refuse_to_change_the_audit_log()""",
    f"""CREATE TRIGGER audit_log_refuses_truncation BEFORE TRUNCATE ON {TABLE}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_the_audit_log()""",
]


def refuse_changes(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def drop_function(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION refuse_to_change_the_audit_log() CASCADE")


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_staff_scope'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='aud', primary_key=True, serialize=False)),
                ('actor_type', models.CharField(choices=[('key', 'Key'), ('operator', 'Operator'), ('command', 'Command'), ('system', 'System')], max_length=10)),
                ('actor_id', kit.values.ids.AnyIdField(null=True)),
                ('actor_name', models.CharField(max_length=300, null=True)),
                ('action', models.CharField(max_length=60)),
                ('resource_type', models.CharField(max_length=30)),
                ('resource_id', kit.values.ids.AnyIdField()),
                ('resource_title', models.CharField(max_length=500)),
                ('changes', models.JSONField(decoder=kit.values.numbers.NumbersOfTheApi)),
                ('request_id', models.CharField(max_length=128, null=True)),
                ('address', models.CharField(max_length=45, null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='accounts.account')),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit entries',
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='audit_newest_first'), models.Index(fields=['resource_id', '-created', '-id'], name='audit_of_resource')],
            },
        ),
        migrations.RunPython(refuse_changes, drop_function),
    ]

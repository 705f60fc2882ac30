import django.db.models.deletion
import django.utils.timezone
import kit.values.ids
import kit.values.numbers
from django.conf import settings
from django.db import migrations, models


# What models cannot say: triggers that keep records as they are, and on PostgreSQL indexes for searches.
STATEMENTS = {
    "sqlite": [
        "CREATE TRIGGER audit_log_refuses_DELETE BEFORE DELETE ON accounts_auditentry BEGIN SELECT RAISE(ABORT, 'The audit log only grows: an entry is neither changed nor deleted.'); END",
        "CREATE TRIGGER audit_log_refuses_UPDATE BEFORE UPDATE ON accounts_auditentry WHEN NOT EXISTS (SELECT 1 FROM accounts_redaction) OR (OLD.id, OLD.account_id, OLD.actor_type, OLD.actor_id, OLD.actor_name, OLD.action, OLD.resource_type, OLD.request_id, OLD.address, OLD.created) IS NOT (NEW.id, NEW.account_id, NEW.actor_type, NEW.actor_id, NEW.actor_name, NEW.action, NEW.resource_type, NEW.request_id, NEW.address, NEW.created) BEGIN SELECT RAISE(ABORT, 'The audit log only grows: an entry is neither changed nor deleted.'); END",
    ],
    "postgresql": [
        "CREATE FUNCTION refuse_to_change_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'UPDATE' THEN IF EXISTS (SELECT 1 FROM accounts_redaction) AND to_jsonb(NEW) - ARRAY['resource_id', 'resource_title', 'changes'] = to_jsonb(OLD) - ARRAY['resource_id', 'resource_title', 'changes'] THEN RETURN NEW; END IF; END IF; RAISE EXCEPTION USING MESSAGE = 'The audit log only grows: an entry is neither changed nor deleted.', ERRCODE = 'restrict_violation'; END $$",
        "CREATE INDEX audit_summary ON accounts_auditentry USING brin (created, action text_bloom_ops (n_distinct_per_range=30, false_positive_rate=0.005), actor_type text_bloom_ops (n_distinct_per_range=4, false_positive_rate=0.005), actor_id bytea_bloom_ops (n_distinct_per_range=100, false_positive_rate=0.005)) WITH (autosummarize=on, pages_per_range=64)",
        "CREATE TRIGGER audit_log_refuses_changes BEFORE DELETE OR UPDATE ON accounts_auditentry FOR EACH ROW EXECUTE FUNCTION refuse_to_change_the_audit_log()",
        "CREATE TRIGGER audit_log_refuses_truncation BEFORE TRUNCATE ON accounts_auditentry FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_the_audit_log()",
    ],
}


def execute_of_vendor(statements):
    def execute(apps, schema_editor):
        for statement in statements[schema_editor.connection.vendor]:
            schema_editor.execute(statement, None)

    return execute


class Migration(migrations.Migration):

    """All tables of a new database. A database that has run the replaced migrations does not run it."""

    initial = True

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_staff_scope'),
        ('accounts', '0003_audit_log'),
        ('accounts', '0004_second_factor'),
        ('accounts', '0005_audit_of_kind'),
        ('accounts', '0006_headers_of_replies'),
        ('accounts', '0007_events_and_webhooks'),
        ('accounts', '0008_suspension_and_demo'),
        ('accounts', '0009_access_events_and_limits'),
        ('accounts', '0010_one_index_of_idempotency_keys'),
        ('accounts', '0011_saved_filters'),
        ('accounts', '0012_changes_of_epochs'),
        ('accounts', '0013_key_of_idempotency_records'),
        ('accounts', '0014_edge_keys_and_unknown_hosts'),
        ('accounts', '0015_redaction'),
        ('accounts', '0016_pepper_fingerprint'),
        ('accounts', '0017_edge_meter'),
        ('accounts', '0018_summary_of_audit_log'),
        ('accounts', '0019_staff_time_zones'),
        ('accounts', '0020_unlisted_signers'),
        ('accounts', '0021_rate_limits_of_keys'),
        ('accounts', '0022_settings_of_accounts'),
        ('accounts', '0023_months_of_accounts'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LimitNotice',
            fields=[
                ('key', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('ends_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Redaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='StaffTimeZone',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='time_zone', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=64)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='acc', primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('plan', models.CharField(choices=[('starter', 'Starter'), ('professional', 'Professional'), ('enterprise', 'Enterprise')], default='starter', max_length=20)),
                ('requests_per_minute', models.PositiveIntegerField(blank=True, help_text='Enterprise only.', null=True)),
                ('requests_per_day', models.PositiveIntegerField(blank=True, help_text='Enterprise only.', null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('epoch', models.BigIntegerField(default=0, editable=False)),
                ('suspended_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('is_demo', models.BooleanField(blank=True, editable=False, null=True)),
                ('unknown_host', models.CharField(blank=True, choices=[('allow', 'Allow'), ('deny', 'Deny')], default='allow', help_text='Whether the edge lets visitors in at hosts that the account has no site for.', max_length=5, null=True, verbose_name='hosts without a site')),
                ('edge_requests_per_day', models.PositiveBigIntegerField(blank=True, help_text='Enterprise only.', null=True)),
                ('edge_requests_per_minute', models.PositiveBigIntegerField(blank=True, help_text='Enterprise only.', null=True)),
                ('unlisted_signers', models.CharField(choices=[('pay', 'Pay'), ('deny', 'Deny')], db_default='deny', default='deny', help_text='Whether signers that are no listed crawlers pay at the edge without a licence or a wallet.', max_length=4)),
                ('currency', models.CharField(db_default='USD', default='USD', help_text="The account's own currency.", max_length=3)),
                ('time_zone', models.CharField(db_default='UTC', default='UTC', help_text='Months of statements, refills and fees begin by its clock.', max_length=64)),
                ('visitor_addresses', models.CharField(choices=[('truncated', 'Truncated'), ('full', 'Full')], db_default='truncated', default='truncated', help_text='How addresses of people are stored: truncated to /24 (IPv6: /48), or in full.', max_length=9)),
                ('former_time_zone', models.CharField(editable=False, max_length=64, null=True)),
                ('time_zone_since', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ['name', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('plan', 'enterprise'), ('requests_per_day__gte', 1), ('requests_per_minute__gte', 1), ('requests_per_day__isnull', False), ('requests_per_minute__isnull', False)), models.Q(models.Q(('plan', 'enterprise'), _negated=True), ('requests_per_day', None), ('requests_per_minute', None)), _connector='OR'), name='enterprise_has_its_own_limits', violation_error_message='An enterprise account, and no other, has limits of its own.'), models.CheckConstraint(condition=models.Q(models.Q(('edge_requests_per_minute', None), models.Q(('edge_requests_per_minute__gte', 1), ('plan', 'enterprise')), _connector='OR'), models.Q(('edge_requests_per_day', None), models.Q(('edge_requests_per_day__gte', 1), ('plan', 'enterprise')), _connector='OR')), name='enterprise_may_have_its_own_edge_limits', violation_error_message='Only an enterprise account has edge limits of its own, of at least 1.')],
            },
        ),
        migrations.CreateModel(
            name='Authenticator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', models.BinaryField()),
                ('last_step', models.BigIntegerField()),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='authenticator', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='EndNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(max_length=60)),
                ('days', models.PositiveSmallIntegerField()),
                ('object_id', kit.values.ids.AnyIdField()),
                ('ends_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('object_id', 'type', 'days', 'ends_at'), name='an_end_is_told_once')],
            },
        ),
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
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='evt', primary_key=True, serialize=False)),
                ('type', models.CharField(max_length=60)),
                ('object_id', kit.values.ids.AnyIdField()),
                ('data', models.TextField()),
                ('previous', models.TextField(null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='accounts.account')),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='webhook_events_newest'), models.Index(fields=['account', 'type', '-created', '-id'], name='webhook_events_of_type'), models.Index(fields=['object_id', '-created', '-id'], name='webhook_events_of_object')],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.BinaryField(max_length=32)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('reply', models.BinaryField(default=bytes)),
                ('headers', models.BinaryField(null=True)),
                ('created', models.DateTimeField(db_index=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
        ),
        migrations.CreateModel(
            name='PepperFingerprint',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('fingerprint', models.CharField(max_length=64)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_pepper_fingerprint')],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.BinaryField(max_length=32)),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SavedFilter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('listed', models.CharField(max_length=100)),
                ('name', models.CharField(max_length=60)),
                ('query', models.TextField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_filters', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('user', 'listed', 'name'), name='one_saved_filter_of_a_name')],
            },
        ),
        migrations.CreateModel(
            name='StaffScope',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('all_accounts', models.BooleanField(default=False, help_text='Also those that are yet to come.')),
                ('accounts', models.ManyToManyField(blank=True, to='accounts.account')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='scope', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'account access',
                'verbose_name_plural': 'account access',
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='we', primary_key=True, serialize=False)),
                ('url', models.TextField()),
                ('events', models.JSONField(default=list)),
                ('description', models.TextField(blank=True, null=True)),
                ('status', models.CharField(choices=[('enabled', 'Enabled'), ('disabled', 'Disabled')], default='enabled', max_length=10)),
                ('disabled_reason', models.CharField(editable=False, max_length=200, null=True)),
                ('secrets', models.BinaryField()),
                ('headers', models.BinaryField(null=True)),
                ('header_names', models.JSONField(default=list, editable=False)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('last_failure_at', models.DateTimeField(editable=False, null=True)),
                ('paused_until', models.DateTimeField(editable=False, null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('access_filter', models.JSONField(editable=False, null=True)),
                ('access_told_until', models.DateTimeField(editable=False, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='webhook_endpoints', to='accounts.account')),
            ],
            options={
                'verbose_name': 'webhook endpoint',
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='endpoints_newest_first')],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('is_single', models.BooleanField(default=False)),
                ('due_at', models.DateTimeField(null=True)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('event', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.event')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.webhookendpoint')),
            ],
            options={
                'verbose_name': 'webhook delivery',
                'verbose_name_plural': 'webhook deliveries',
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['endpoint', 'due_at'], name='deliveries_due')],
                'constraints': [models.UniqueConstraint(fields=('event', 'endpoint'), name='one_delivery_per_endpoint')],
            },
        ),
        migrations.CreateModel(
            name='WebhookAttempt',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='del', primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('succeeded', models.BooleanField()),
                ('status', models.PositiveIntegerField(null=True)),
                ('error', models.TextField(null=True)),
                ('reply', models.TextField()),
                ('duration_ms', models.PositiveIntegerField()),
                ('next_attempt_at', models.DateTimeField(null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='accounts.event')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='accounts.webhookendpoint')),
            ],
            options={
                'verbose_name': 'webhook delivery attempt',
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['endpoint', '-created', '-id'], name='attempts_newest_first')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='key', primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('type', models.CharField(choices=[('secret', 'Secret'), ('public', 'Public')], max_length=10)),
                ('prefix', models.CharField(editable=False, max_length=20)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('permissions', models.JSONField(default=list)),
                ('allowed_ips', models.JSONField(blank=True, default=list)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('allowed_hosts', models.JSONField(blank=True, db_default=[], default=list)),
                ('rate_limit', models.JSONField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='accounts.account')),
            ],
            options={
                'verbose_name': 'API key',
                'indexes': [models.Index(fields=['account', '-created_at', '-id'], name='api_keys_newest_first')],
            },
        ),
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
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='audit_newest_first'), models.Index(fields=['resource_id', '-created', '-id'], name='audit_of_resource'), models.Index(fields=['resource_type', 'account', '-created', '-id'], name='audit_of_kind')],
            },
        ),
        migrations.RunPython(execute_of_vendor(STATEMENTS), migrations.RunPython.noop),
    ]

import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
import kit.storage.code_points
import kit.values.amounts
import kit.values.ids
import kit.values.numbers
from django.db import migrations, models


# What models cannot say: triggers that keep records as they are, and on PostgreSQL indexes for searches.
STATEMENTS = {
    "sqlite": [
    ],
    "postgresql": [
        "CREATE INDEX content_by_external_id ON licensing_content USING btree (external_id varchar_pattern_ops) WHERE (deleted_at IS NULL)",
        "CREATE INDEX content_by_tag ON licensing_content USING gin (tags jsonb_path_ops)",
        "CREATE INDEX content_by_title ON licensing_content USING gin (to_tsvector('simple'::regconfig, (title)::text)) WHERE (deleted_at IS NULL)",
        "CREATE INDEX content_summary ON licensing_content USING brin (type text_bloom_ops (n_distinct_per_range=5, false_positive_rate=0.005), status text_bloom_ops (n_distinct_per_range=2, false_positive_rate=0.005), policy_id uuid_bloom_ops (n_distinct_per_range=100, false_positive_rate=0.005), author text_bloom_ops (n_distinct_per_range=200, false_positive_rate=0.005), category text_bloom_ops (n_distinct_per_range=50, false_positive_rate=0.005), published_at date_bloom_ops (n_distinct_per_range=200, false_positive_rate=0.005), word_count int4_bloom_ops (n_distinct_per_range=500, false_positive_rate=0.005), created, updated, type, status, policy_id, author, category, published_at, word_count) WITH (autosummarize=on, pages_per_range=64)",
        "CREATE INDEX requesters_by_name ON licensing_requester USING gin (to_tsvector('simple'::regconfig, (name)::text)) WHERE (name IS NOT NULL)",
        "CREATE INDEX requesters_by_own_id ON licensing_requester USING btree (requester_id varchar_pattern_ops)",
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
        ('licensing', '0001_initial'),
        ('licensing', '0002_tags_index'),
        ('licensing', '0003_licenses'),
        ('licensing', '0004_requesters_licenses_revision'),
        ('licensing', '0005_search_indexes'),
        ('licensing', '0006_words'),
        ('licensing', '0007_content_of_policy'),
        ('licensing', '0008_requesters_by_account_once'),
        ('licensing', '0009_equivalent_urls'),
        ('licensing', '0010_sites'),
        ('licensing', '0011_policy_modes'),
        ('licensing', '0012_licenses_ending'),
        ('licensing', '0013_content_in_order'),
        ('licensing', '0014_signing_keys'),
        ('licensing', '0015_license_server'),
        ('licensing', '0016_visits'),
        ('licensing', '0017_tests_of_policies'),
        ('licensing', '0018_customers'),
        ('licensing', '0019_wallets'),
        ('licensing', '0020_other_hosts'),
        ('licensing', '0021_page_key'),
        ('licensing', '0022_keys_of_pages'),
        ('licensing', '0023_visitors_named_by_the_site'),
        ('licensing', '0024_verified_hosts'),
        ('licensing', '0025_external_ids'),
        ('licensing', '0026_erased_and_merged_requesters'),
        ('licensing', '0027_visits_of_pages'),
        ('licensing', '0028_address_names'),
        ('licensing', '0029_address_lists'),
        ('licensing', '0030_referrals_and_violations'),
        ('licensing', '0031_refusal_pages'),
        ('licensing', '0032_the_admin_says_customer'),
        ('licensing', '0033_summary_of_content'),
        ('licensing', '0034_former_names'),
        ('licensing', '0035_keep_refusing_other_hosts'),
        ('licensing', '0036_aliases_of_sites'),
        ('licensing', '0037_fees'),
        ('licensing', '0038_index_of_fees'),
        ('licensing', '0039_new_sites_observe'),
        ('licensing', '0040_edge_usage'),
        ('licensing', '0041_portal_sessions'),
    ]

    dependencies = [
        ('accounts', '0001_squashed_0023_months_of_accounts'),
    ]

    operations = [
        migrations.CreateModel(
            name='AddressList',
            fields=[
                ('url', models.CharField(max_length=2048, primary_key=True, serialize=False)),
                ('ranges', models.JSONField(default=list)),
                ('fetched_at', models.DateTimeField(null=True)),
                ('attempted_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, default='', max_length=300)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AddressName',
            fields=[
                ('address', models.CharField(max_length=39, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=253)),
                ('looked_up_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='VisitsCounted',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('until', models.DateTimeField()),
                ('imports', models.BigIntegerField(db_default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Content',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='cnt', primary_key=True, serialize=False)),
                ('external_id', models.CharField(blank=True, max_length=255, null=True)),
                ('title', models.CharField(max_length=500)),
                ('type', models.CharField(choices=[('article', 'Article'), ('report', 'Report'), ('image', 'Image'), ('dataset', 'Dataset'), ('video', 'Video')], default='article', max_length=10)),
                ('source', models.TextField(blank=True, null=True)),
                ('source_key', models.BinaryField(max_length=16, null=True)),
                ('author', models.CharField(blank=True, max_length=255, null=True)),
                ('published_at', models.DateField(blank=True, null=True)),
                ('category', models.CharField(blank=True, max_length=255, null=True)),
                ('word_count', models.PositiveIntegerField(blank=True, null=True)),
                ('metadata_tags', models.JSONField(blank=True, null=True)),
                ('metadata_extra', models.JSONField(blank=True, decoder=kit.values.numbers.NumbersOfTheApi, default=dict)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('status', models.CharField(choices=[('active', 'Active'), ('archived', 'Archived')], default='active', max_length=10)),
                ('created', models.DateTimeField(editable=False)),
                ('updated', models.DateTimeField(editable=False)),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('page_key', models.BinaryField(max_length=16, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='content', to='accounts.account')),
            ],
            options={
                'verbose_name': 'content item',
                'verbose_name_plural': 'content items',
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['account', '-created', '-id'], name='content_newest_first'), models.Index(condition=models.Q(('deleted_at', None)), fields=['account', 'source_key'], name='content_by_source'), models.Index(condition=models.Q(('deleted_at', None)), fields=['account', 'updated', 'id'], name='content_by_updated'), models.Index(models.F('account'), kit.storage.code_points.ByCodePoint('title'), models.F('id'), condition=models.Q(('deleted_at', None)), name='content_title_order'), models.Index(condition=models.Q(('deleted_at', None)), fields=['account', 'page_key'], name='content_by_page')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('account', 'external_id'), name='external_id_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='OtherHosts',
            fields=[
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='accounts.account')),
                ('pages', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='licensing.content')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Page',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.BinaryField(max_length=16)),
                ('url', models.TextField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'digest'), name='one_row_per_page')],
            },
        ),
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='pol', primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.TextField(blank=True, null=True)),
                ('rules', models.JSONField(blank=True, default=list)),
                ('default_action', models.CharField(choices=[('allow', 'Allow'), ('deny', 'Deny')], default='deny', max_length=5)),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created', models.DateTimeField(editable=False)),
                ('updated', models.DateTimeField(editable=False, null=True)),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('mode', models.CharField(choices=[('enforce', 'enforce'), ('observe', 'observe'), ('disabled', 'disabled')], default='enforce', max_length=10)),
                ('tests', models.JSONField(blank=True, default=list)),
                ('external_id', models.CharField(blank=True, max_length=255, null=True)),
                ('metadata', models.JSONField(blank=True, db_default={}, decoder=kit.values.numbers.NumbersOfTheApi, default=dict)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='policies', to='accounts.account')),
            ],
            options={
                'verbose_name_plural': 'policies',
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['account', '-created', '-id'], name='policies_newest_first')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at', None), ('external_id__isnull', False)), fields=('account', 'external_id'), name='policy_external_id_is_unique')],
            },
        ),
        migrations.AddField(
            model_name='content',
            name='policy',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='content', to='licensing.policy'),
        ),
        migrations.CreateModel(
            name='PolicyRevision',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='rev', primary_key=True, serialize=False)),
                ('version', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=255)),
                ('description', models.TextField(null=True)),
                ('rules', models.JSONField()),
                ('default_action', models.CharField(choices=[('allow', 'Allow'), ('deny', 'Deny')], max_length=5)),
                ('created', models.DateTimeField()),
                ('mode', models.CharField(choices=[('enforce', 'enforce'), ('observe', 'observe'), ('disabled', 'disabled')], default='enforce', max_length=10)),
                ('tests', models.JSONField(default=list)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='licensing.policy')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('policy', 'version'), name='one_revision_per_version')],
            },
        ),
        migrations.CreateModel(
            name='ReferralDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('host', models.CharField(max_length=253)),
                ('referrals', models.BigIntegerField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('page', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='referrals', to='licensing.page')),
            ],
            options={
                'indexes': [models.Index(fields=['page'], name='referrals_of_page')],
                'constraints': [models.UniqueConstraint(fields=('account', 'day', 'page', 'host'), name='one_row_per_page_and_referrer')],
            },
        ),
        migrations.CreateModel(
            name='Requester',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('requester_id', models.CharField(max_length=255, verbose_name="customer's own id")),
                ('name', models.CharField(blank=True, max_length=255, null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('licenses_revision', models.UUIDField(editable=False, null=True)),
                ('email', models.EmailField(blank=True, max_length=254, null=True)),
                ('metadata', models.JSONField(blank=True, db_default={}, decoder=kit.values.numbers.NumbersOfTheApi, default=dict)),
                ('notes', models.TextField(blank=True, null=True)),
                ('updated', models.DateTimeField(editable=False, null=True)),
                ('wallets', models.JSONField(editable=False, null=True)),
                ('erasing', models.JSONField(editable=False, null=True)),
                ('is_erased', models.BooleanField(db_default=False, default=False, editable=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('merged_into', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='licensing.requester')),
            ],
            options={
                'verbose_name': 'customer',
                'indexes': [models.Index(django.db.models.functions.comparison.Coalesce('account', 'account'), models.F('created'), models.F('id'), name='requesters_newest_first'), models.Index(condition=models.Q(('merged_into__isnull', False)), fields=['merged_into'], name='merged_requesters')],
                'constraints': [models.UniqueConstraint(fields=('account', 'requester_id'), name='requester_id_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='PageDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('identified_by', models.CharField(choices=[('license_token', 'licence token'), ('signature', 'signature (Web Bot Auth)'), ('address', 'published address'), ('reverse_dns', 'reverse DNS'), ('api_key', 'API key'), ('site', "the site's own code"), ('user_agent', 'User-Agent alone'), ('nothing', 'nothing')], max_length=20)),
                ('allowed', models.BigIntegerField()),
                ('observed', models.BigIntegerField()),
                ('denied', models.BigIntegerField()),
                ('last_seen', models.DateTimeField()),
                ('violations', models.BigIntegerField(db_default=0)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('page', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='licensing.page')),
                ('requester', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='licensing.requester')),
            ],
            options={
                'indexes': [models.Index(fields=['page'], name='days_of_page')],
                'constraints': [models.UniqueConstraint(fields=('account', 'day', 'page', 'requester', 'identified_by'), name='one_row_per_page_visitor_and_day')],
            },
        ),
        migrations.CreateModel(
            name='LicenseClient',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='cli', primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('prefix', models.CharField(editable=False, max_length=20)),
                ('digest', models.BinaryField(max_length=32)),
                ('former_digest', models.BinaryField(max_length=32, null=True)),
                ('former_until', models.DateTimeField(editable=False, null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='license_clients', to='accounts.account')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='clients', to='licensing.requester', verbose_name='customer')),
            ],
            options={
                'verbose_name': 'licence client',
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='clients_newest_first')],
            },
        ),
        migrations.CreateModel(
            name='License',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='lic', primary_key=True, serialize=False)),
                ('license_type', models.CharField(max_length=100, verbose_name='licence type')),
                ('content_ids', models.JSONField(blank=True, default=list)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('policy_ids', models.JSONField(blank=True, default=list)),
                ('starts_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('price_amount', kit.values.amounts.AmountField(blank=True, null=True)),
                ('price_currency', models.CharField(blank=True, max_length=3, null=True)),
                ('access_amount', kit.values.amounts.AmountField(blank=True, null=True)),
                ('access_currency', models.CharField(blank=True, max_length=3, null=True)),
                ('status', models.CharField(choices=[('active', 'Active'), ('revoked', 'Revoked')], default='active', max_length=10)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created', models.DateTimeField(editable=False)),
                ('updated', models.DateTimeField(editable=False)),
                ('external_id', models.CharField(blank=True, max_length=255, null=True)),
                ('metadata', models.JSONField(blank=True, db_default={}, decoder=kit.values.numbers.NumbersOfTheApi, default=dict)),
                ('fee_amount', kit.values.amounts.AmountField(blank=True, null=True)),
                ('fee_currency', models.CharField(blank=True, max_length=3, null=True)),
                ('fee_every', models.CharField(blank=True, choices=[('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year')], max_length=7, null=True)),
                ('fee_months', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('fee_zone', models.CharField(editable=False, max_length=64, null=True)),
                ('next_fee_at', models.DateTimeField(editable=False, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='licenses', to='accounts.account')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='licenses', to='licensing.requester', verbose_name='customer')),
            ],
            options={
                'verbose_name': 'licence',
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='licenses_newest_first'), models.Index(condition=models.Q(('expires_at__isnull', False), ('status', 'active')), fields=['expires_at'], name='licenses_ending'), models.Index(condition=models.Q(('next_fee_at__isnull', False)), fields=['account', 'next_fee_at'], name='licenses_with_fees_due')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('external_id__isnull', False)), fields=('account', 'external_id'), name='license_external_id_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='FormerName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('until', models.DateTimeField()),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_names', to='licensing.requester')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='sig', primary_key=True, serialize=False)),
                ('public', models.BinaryField(max_length=64)),
                ('private', models.BinaryField()),
                ('active', models.BooleanField(default=True)),
                ('created', models.DateTimeField()),
                ('retires_at', models.DateTimeField(null=True)),
                ('algorithm', models.CharField(choices=[('EdDSA', 'Eddsa'), ('ES256', 'Es256')], db_default='EdDSA', max_length=5)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('active', True)), fields=('algorithm',), name='one_active_key_an_algorithm')],
            },
        ),
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='site', primary_key=True, serialize=False)),
                ('host', models.CharField(max_length=253)),
                ('mode', models.CharField(choices=[('enforce', 'enforce'), ('observe', 'observe'), ('disabled', 'disabled')], default='observe', max_length=10)),
                ('unknown', models.CharField(choices=[('allow', 'Allow'), ('deny', 'Deny')], default='allow', max_length=5, verbose_name='unknown pages')),
                ('created', models.DateTimeField(editable=False)),
                ('updated', models.DateTimeField(editable=False)),
                ('verified_at', models.DateTimeField(editable=False, null=True)),
                ('robots_txt', models.TextField(blank=True, null=True, verbose_name='robots.txt')),
                ('link_label', models.CharField(blank=True, max_length=60, null=True)),
                ('link_url', models.CharField(blank=True, max_length=500, null=True, verbose_name='link URL')),
                ('name', models.CharField(blank=True, max_length=100, null=True)),
                ('refusal_message', models.TextField(blank=True, null=True)),
                ('ask', models.CharField(choices=[('crawlers', 'Crawlers'), ('everyone', 'Everyone')], db_default='crawlers', default='crawlers', max_length=8, verbose_name='asks about')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sites', to='accounts.account')),
                ('pages', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='licensing.content')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-created', '-id'], name='sites_newest_first'), models.Index(fields=['host'], name='sites_by_host')],
                'constraints': [models.UniqueConstraint(fields=('account', 'host'), name='one_site_per_host')],
            },
        ),
        migrations.AddField(
            model_name='page',
            name='site',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='licensing.site'),
        ),
        migrations.CreateModel(
            name='SiteAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=253)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='licensing.site')),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['host'], name='site_aliases_by_host')],
                'constraints': [models.UniqueConstraint(fields=('account', 'host'), name='one_site_per_alias')],
            },
        ),
        migrations.CreateModel(
            name='SiteRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('pattern', models.TextField()),
                ('policy', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='site_rules', to='licensing.policy')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='licensing.site')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('site', 'position'), name='one_site_rule_per_position')],
            },
        ),
        migrations.CreateModel(
            name='VisitorDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('identified_by', models.CharField(choices=[('license_token', 'licence token'), ('signature', 'signature (Web Bot Auth)'), ('address', 'published address'), ('reverse_dns', 'reverse DNS'), ('api_key', 'API key'), ('site', "the site's own code"), ('user_agent', 'User-Agent alone'), ('nothing', 'nothing')], max_length=20)),
                ('allowed', models.BigIntegerField()),
                ('observed', models.BigIntegerField()),
                ('denied', models.BigIntegerField()),
                ('last_seen', models.DateTimeField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('requester', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='licensing.requester')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'day', 'requester', 'identified_by'), name='one_row_per_visitor_and_day')],
            },
        ),
        migrations.CreateModel(
            name='EdgeUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.PositiveSmallIntegerField()),
                ('day', models.DateField()),
                ('identified_by', models.CharField(blank=True, max_length=20)),
                ('referrer', models.CharField(blank=True, max_length=253)),
                ('allowed', models.BigIntegerField()),
                ('observed', models.BigIntegerField()),
                ('denied', models.BigIntegerField()),
                ('violations', models.BigIntegerField()),
                ('last_seen', models.DateTimeField()),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('page', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='usage', to='licensing.page')),
                ('requester', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='licensing.requester')),
            ],
            options={
                'indexes': [models.Index(fields=['page'], name='usage_of_page')],
                'constraints': [models.UniqueConstraint(fields=('account', 'kind', 'day', 'page', 'requester', 'identified_by', 'referrer'), name='one_row_of_usage_per_day_and_key')],
            },
        ),
        migrations.CreateModel(
            name='PortalSession',
            fields=[
                ('id', kit.values.ids.IdField(editable=False, prefix='pts', primary_key=True, serialize=False)),
                ('scopes', models.JSONField()),
                ('return_url', models.CharField(max_length=2048, null=True)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('expires_at', models.DateTimeField()),
                ('redeemed_at', models.DateTimeField(null=True)),
                ('created', models.DateTimeField()),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='portal_sessions', to='licensing.requester')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='content',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['policy'], name='content_of_policy'),
        ),
        migrations.RunPython(execute_of_vendor(STATEMENTS), migrations.RunPython.noop),
    ]

#!/bin/sh
# PostgreSQL's image runs this once, when its volume is empty: a role and a database for the service.
# The role is no superuser, so that the triggers which protect the ledger and the audit log bind the service, too. The
# superuser has no password afterwards: it logs in from within the container only.
set -eu

psql --username postgres --dbname postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE licensing LOGIN PASSWORD :'password';
CREATE DATABASE licensing OWNER licensing;
REVOKE ALL ON DATABASE licensing FROM PUBLIC;
ALTER ROLE postgres PASSWORD NULL;
SQL

#!/bin/sh
# A database node.
#   create   make the empty database of a new installation
#   start    run PostgreSQL: without data, copy the primary first and follow it
#   rejoin   turn a former primary into a standby of the present one
set -eu

config=/etc/postgresql/postgresql.conf
new="$PGDATA.new" # becomes $PGDATA when complete, so that an interrupted copy is not taken for data

fail() {
    echo "$NODE: $1" >&2
    exit 1
}

primary_answers() {
    psql "$PRIMARY" --quiet --command ";" >/dev/null 2>&1
}

# The service's role is no superuser, so that the triggers which protect the ledger and the audit log bind it, too.
create_roles() {
    cat <<SQL
CREATE ROLE licensing LOGIN PASSWORD '$PGPASSWORD';

CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$PGPASSWORD';

CREATE DATABASE $PGDATABASE OWNER licensing;

REVOKE ALL ON DATABASE $PGDATABASE FROM PUBLIC;

GRANT CONNECT ON DATABASE $PGDATABASE TO replicator;

SQL
}

# What pg_rewind reads of the primary.
allow_rewinding() {
    for reading in "pg_ls_dir(text, boolean, boolean)" "pg_stat_file(text, boolean)" "pg_read_binary_file(text)" \
        "pg_read_binary_file(text, bigint, bigint, boolean)"; do
        printf 'GRANT EXECUTE ON FUNCTION pg_catalog.%s TO replicator;\n\n' "$reading"
    done
}

create() {
    [ ! -e "$PGDATA" ] || fail "there are data in $PGDATA already."
    ! primary_answers || fail "the other node is a primary already. Start this one: it copies it."
    rm -rf "$new"
    # The built-in locale sorts alike on every machine: indexes of libc's break with another version of libc.
    initdb --pgdata "$new" --username "$PGUSER" --auth-local trust --auth-host scram-sha-256 --data-checksums \
        --encoding UTF8 --locale C --locale-provider builtin --builtin-locale C.UTF-8 --no-instructions
    create_roles | postgres --single -j -D "$new" postgres >/dev/null
    allow_rewinding | postgres --single -j -D "$new" "$PGDATABASE" >/dev/null
    mv "$new" "$PGDATA"
}

# Mark the data in a folder as a standby's. Once promoted it goes on alone: no node follows it yet.
make_standby() {
    echo "synchronous_standby_names = ''" >>"$1/postgresql.auto.conf"
    touch "$1/standby.signal"
}

copy() {
    until primary_answers; do
        echo "$NODE: no data, and no primary to copy. In a new installation: docker compose run --rm db1 create" >&2
        sleep 2
    done
    rm -rf "$new"
    pg_basebackup --pgdata "$new" --dbname "$PRIMARY" --checkpoint fast
    make_standby "$new"
    mv "$new" "$PGDATA"
}

rejoin() {
    ! pg_isready --host "$NODE" --quiet || fail "still running. Run: docker compose stop $NODE"
    primary_answers || fail "there is no primary. Promote the other node first."
    rm -f "$PGDATA/postmaster.pid" # of a killed container: its process number means another process here
    # With the configuration: its wal_keep_size keeps the log that is needed through the recovery from a crash.
    pg_rewind --target-pgdata "$PGDATA" --source-server "$PRIMARY" --config-file "$config"
    make_standby "$PGDATA"
}

start() {
    if [ ! -e "$PGDATA" ]; then
        copy
    elif [ ! -e "$PGDATA/standby.signal" ] && primary_answers; then
        fail "the other node is the primary now. Run: docker compose run --rm $NODE rejoin"
    fi
    exec postgres -c config_file="$config" -c cluster_name="$NODE" -c primary_conninfo="$PRIMARY"
}

"$1"

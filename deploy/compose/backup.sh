#!/bin/sh
# Dumps the database into /backup once a day, and deletes dumps that are older than BACKUP_DAYS. Copy /backup to another
# machine: a backup on the same disk is lost with it. docs/guides/restore.md tells how to restore one.
set -u
: "${BACKUP_DAYS:=14}"
umask 077
trap 'exit 0' TERM

while :; do
    dump="/backup/licensing-$(date -u +%F).dump"
    # Older dumps go only when there is a new one that can be read.
    if pg_dump --format=custom --file="$dump.part" && pg_restore --list "$dump.part" >/dev/null; then
        mv "$dump.part" "$dump"
        find /backup -name 'licensing-*.dump' -mtime +"$BACKUP_DAYS" -exec rm {} +
        echo "Dumped the database to $dump."
    else
        echo "The database could not be dumped to $dump. Older dumps stay." >&2
    fi
    sleep 86400 &
    wait $!
done

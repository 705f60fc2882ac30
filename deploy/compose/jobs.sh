#!/bin/sh
# The jobs of docs/guides/scheduled-jobs.md, once a day, and the comparison of reports on Sundays.
trap 'exit 0' TERM

run() {
    python manage.py "$@" || echo "manage.py $* failed with status $?" >&2
}

while :; do
    run purge_idempotency_keys
    run purge_webhook_events
    run clearsessions
    [ "$(date -u +%u)" != 7 ] || run rebuild_usage --check
    sleep 86400 &
    wait $!
done

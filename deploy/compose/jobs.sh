#!/bin/sh
# The jobs of docs/guides/scheduled-jobs.md, once a day, and the comparison of reports on Sundays.
# With the argument `once`, it ends after a day's jobs, with status 1 if one failed.
trap 'exit 0' TERM

run() {
    python manage.py "$@" || {
        echo "manage.py $* failed with status $?" >&2
        failed=1
    }
}

while :; do
    failed=0
    run purge_idempotency_keys
    run purge_webhook_events
    run clearsessions
    [ "$(date -u +%u)" != 7 ] || run rebuild_usage --check
    [ "$1" != once ] || exit "$failed"
    sleep 86400 &
    wait $!
done

#!/bin/sh
# The jobs of docs/guides/scheduled-jobs.md, once a day, and the comparisons on Sundays.
trap 'exit 0' TERM

run() {
    python manage.py "$@" || echo "manage.py $* failed with status $?" >&2
}

while :; do
    run purge_idempotency_keys
    run purge_webhook_events
    run clearsessions
    if [ "$(date -u +%u)" = 7 ]; then
        run rebuild_usage --check
        run check_books
    fi
    sleep 86400 &
    wait $!
done

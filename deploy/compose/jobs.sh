#!/bin/sh
# The jobs of docs/guides/scheduled-jobs.md, once a day, and the comparisons on Sundays.
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
    if [ "$(date -u +%u)" = 7 ]; then
        run rebuild_usage --check
        run check_books
    fi
    [ "$1" != once ] || exit "$failed"
    sleep 86400 &
    wait $!
done

# What .ci/run and .ci/full share. Sourced by them from the root of the checkout.

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=.venv/bin/python

# Neither the caller's settings nor the installation's own data take part in the checks.
clean=(env -u DATABASE_URL -u REDIS_URL -u DEBUG -u ALLOWED_HOSTS -u TRUSTED_PROXIES "DATA_DIR=$scratch")
production=("${clean[@]}" ALLOWED_HOSTS=api.example.com WORKERS=1 "SECRET_KEY=$(printf 'only-for-this-check-%02d-' {1..4})")

# Run a command. If it fails, name the step and stop.
step() {
    local name=$1
    shift
    echo "==> $name"
    "$@" || { echo "FAILED: $name" >&2; exit 1; }
}

# Run functions beside each other. Show what each has printed once it has ended, and stop if one has failed.
beside() {
    local each failed="" numbers=()
    for each in "$@"; do
        "$each" >"$scratch/$each.out" 2>&1 &
        numbers+=($!)
    done
    for each in "$@"; do
        wait "${numbers[0]}" || failed=yes
        numbers=("${numbers[@]:1}")
        cat "$scratch/$each.out"
    done
    [ -z "$failed" ] || exit 1
}

# Install Debian's packages, as root where there is apt-get. Elsewhere the tests that need them say so.
debian() {
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        step "install $*" env DEBIAN_FRONTEND=noninteractive sh -c \
            'apt-get update -qq && apt-get install -qq --no-install-recommends "$@" >/dev/null' apt "$@"
    fi
}

has() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || return 1; done
}

install_programs_and_packages() {
    has chromium || debian chromium
    has nginx || debian nginx-light
    # The clock of tests/world, which lives through several days.
    ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || debian faketime
    step "set up" python3 run.py setup --dev
    step "install other proxies and clients" "$python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes --no-deps --ignore-requires-python -r requirements-edge.txt
}

install_tools_of_node() {
    # Without Node and its tools the tests of the document's linters and of Workers are skipped, and say so.
    if has npm; then
        echo "==> tools of Node"
        timeout 600 npm ci --prefix tests/openapi --ignore-scripts --no-audit --no-fund || {
            rm -rf tests/openapi/node_modules
            echo "SKIPPED: the tools of Node could not be installed."
        }
        step "runtime of Workers" npm ci --prefix tests/faults/proxies --ignore-scripts --no-audit --no-fund
    fi
}

check_types() {
    step "mypy" "${clean[@]}" "$python" -m mypy
}

check_the_rest() {
    step "ruff check"          "$python" -m ruff check .
    step "ruff format"         "$python" -m ruff format --check .
    step "migrations complete" "${clean[@]}" "$python" manage.py makemigrations --check --dry-run
    step "deployment check"    "${production[@]}" "$python" manage.py check --deploy --fail-level WARNING
    step "OpenAPI document"    "${clean[@]}" "$python" manage.py spectacular --validate --fail-on-warn --file /dev/null
}

install_and_check() {
    install_programs_and_packages
    beside install_tools_of_node check_types check_the_rest
}

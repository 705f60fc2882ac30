# The service alone; compose.yaml adds PostgreSQL and Valkey. Migrations are run apart: `manage.py migrate`.
FROM python:3.12-slim AS service

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /srv/licensing
COPY requirements.txt requirements-archive.txt ./
# requirements-archive.txt if the archive is used: docs/guides/archive.md.
ARG REQUIREMENTS=requirements.txt
RUN pip install --require-hashes -r "$REQUIREMENTS"

# The pages of /docs/, in a stage of their own: what builds them is not needed afterwards.
FROM service AS docs
COPY . .
RUN pip install --require-hashes -r requirements-docs.txt && python manage.py build_docs

FROM service
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Content Access Licensing API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="$REVISION"

# The code belongs to root and is compiled here, so that the service can change nothing of it: its root may be read-only.
COPY . .
COPY --from=docs /srv/licensing/site site
RUN python -m compileall -q . \
 && useradd --system --uid 10001 --no-create-home licensing \
 && install -d -m 700 -o licensing -g licensing /var/lib/licensing \
 && pip uninstall --yes --quiet pip
USER 10001

ENV HOST=0.0.0.0 PORT=8000 DATA_DIR=/var/lib/licensing
VOLUME /var/lib/licensing
EXPOSE 8000

# Probes answer under any Host.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --start-interval=2s --retries=3 CMD ["python", "-c", "\
import os, urllib.request as request; \
request.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/readyz', timeout=4)"]

# On SIGTERM it takes no more connections and has 30 seconds for those under way.
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "serve"]

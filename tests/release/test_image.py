"""The steps of the Dockerfile, without Docker, and what its image runs: on a read-only root, without privileges."""

import ast
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from config.monitoring.probes import PROBES
from launcher.release.archive import image_paths, is_below
from launcher.testing import SETTINGS
from run import ROOT
from tests.faults.harness import eventually
from tests.services import free_port

IMAGE = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE))
# What only an image has: its packages are those of .venv here, and it has users of its own.
STAND_INS = """
pip() { [ "$1" != install ] || [ -f "$4" ] || [ -f "$3" ]; }
useradd() { :; }
install() { mkdir -p "$DATA_DIR"; }
python() { "$PYTHON" "$@"; }
set -euo pipefail
"""
SECONDS_TO_STOP = 40  # stop_grace_period in compose.yaml


class Step(NamedTuple):
    instruction: str
    text: str


STEPS = [Step(*line.split(None, 1)) for line in IMAGE.splitlines() if line.strip()]
FINAL = STEPS[max(number for number, step in enumerate(STEPS) if step.instruction == "FROM") :]


def texts(instruction: str) -> list[str]:
    return [step.text for step in FINAL if step.instruction == instruction]


def test_the_image_runs_as_a_numbered_user_that_owns_only_its_data():
    [user] = texts("USER")
    [command] = [text for text in texts("RUN") if "useradd" in text]
    assert f"--uid {user} " in command
    assert int(user) >= 10_000
    assert texts("VOLUME") == ["/var/lib/licensing"]
    assert command.count("install -d -m 700 -o licensing -g licensing /var/lib/licensing") == 1
    order = [step.instruction for step in FINAL]
    assert order.index("USER") > max(index for index, name in enumerate(order) if name in ("RUN", "COPY"))


def test_the_image_stops_on_the_signal_that_the_service_handles():
    assert texts("STOPSIGNAL") == ["SIGTERM"]
    assert ast.literal_eval(texts("CMD")[0]) == ["python", "manage.py", "serve"]


def test_no_stage_installs_a_compiler_and_the_last_one_has_no_installer():
    assert not re.search(r"apt-get|apk |gcc|build-essential", IMAGE)
    assert "pip uninstall --yes --quiet pip" in texts("RUN")[-1]


@pytest.mark.parametrize("compose", ["compose.yaml", "deploy/high-availability/compose.yaml"])
def test_the_containers_of_the_service_have_a_read_only_root_and_no_privileges(compose: str):
    container = yaml.safe_load((ROOT / compose).read_text())["x-service"]
    assert container["read_only"] is True
    assert container["tmpfs"][0].startswith("/tmp:size=")  # noqa: S108
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]


def manifests() -> list[dict[str, Any]]:
    folder = ROOT / "deploy" / "kubernetes"
    return [one for name in ("service", "jobs") for one in yaml.safe_load_all((folder / f"{name}.yaml").read_text())]


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    spec = manifest["spec"].get("jobTemplate", manifest)["spec"]
    return spec["template"]["spec"]


def test_pods_run_the_image_without_privileges_and_stop_as_it_does():
    service, jobs = (pod_of(one) for one in manifests() if one["kind"] in ("Deployment", "CronJob"))
    for pod in (service, jobs):
        assert pod["securityContext"]["runAsUser"] == int(texts("USER")[0])
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["securityContext"] == {
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {mount["mountPath"] for mount in container["volumeMounts"]} == {*texts("VOLUME"), "/tmp"}  # noqa: S108
    assert service["terminationGracePeriodSeconds"] >= SECONDS_TO_STOP
    [container] = service["containers"]
    assert str(container["ports"][0]["containerPort"]) in texts("EXPOSE")
    probes = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert probes == PROBES


def test_pods_are_given_settings_that_exist():
    kustomization = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text())
    [generated] = kustomization["configMapGenerator"]
    names = {literal.partition("=")[0] for literal in generated["literals"]}
    assert names <= set(SETTINGS) | {"DATA_DIR"}
    assert {"ALLOWED_HOSTS", "TRUSTED_PROXIES"} <= names
    assert set(kustomization["resources"]) == {"service.yaml", "jobs.yaml"}
    images = {one["image"] for each in manifests() if each["kind"] in ("Deployment", "CronJob")
              for one in pod_of(each)["containers"]}  # fmt: skip
    assert images == {kustomization["images"][0]["name"]}


@pytest.mark.parametrize("status", [0, 1])
def test_the_daily_jobs_run_once_and_fail_if_one_fails(tmp_path: Path, status: int):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$2"\n[ "$2" != clearsessions ] || exit {status}\n')
    python.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    script = ROOT / "deploy" / "compose" / "jobs.sh"
    done = subprocess.run(["sh", script, "once"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stdout.split()[:3] == ["purge_idempotency_keys", "purge_webhook_events", "clearsessions"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run every COPY and RUN of the Dockerfile, in one folder for all stages."""
    folder = tmp_path_factory.mktemp("image")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    context = [name for name in names.split("\0") if is_below(name, image_paths(ROOT)) and (ROOT / name).is_file()]
    data = tmp_path_factory.mktemp("build")
    environment = environment_of_the_image(DATA_DIR=str(data), REQUIREMENTS="requirements.txt")
    for step in STEPS:
        if step.instruction == "COPY" and not step.text.startswith("--from"):
            [*copied, _] = shlex.split(step.text)
            assert (copied == ["."]) or set(copied) <= set(context), step.text
            for name in context if copied == ["."] else copied:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        if step.instruction == "RUN":
            command = ["bash", "-c", f"{STAND_INS}\n{step.text}"]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
            )
            assert done.returncode == 0, f"{step.text}\n{done.stderr}"
    return folder


def environment_of_the_image(**more: str) -> dict[str, str]:
    """Return the variables that the image sets, and none of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS | {"DATA_DIR"}}
    fixed = dict(part.split("=", 1) for text in [*texts("ENV")] for part in text.split())
    return {**kept, **fixed, "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1", **more}


@pytest.fixture(scope="module")
def container(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen, dict]]:
    """Migrate and start the image's command where the code cannot be written to."""
    data = tmp_path_factory.mktemp("data")
    data.chmod(0o700)
    environment = environment_of_the_image(DATA_DIR=str(data), PORT=str(free_port()), HOST="127.0.0.1")
    [command] = texts("CMD")
    words = [sys.executable, *ast.literal_eval(command)[1:]]
    read_only = f'mount --bind "{root}" "{root}" && mount -o remount,bind,ro "{root}" && cd "{root}"'
    namespace = ["unshare", "--mount", "--map-root-user"] if os.geteuid() else ["unshare", "--mount"]
    if subprocess.run([*namespace, "sh", "-c", read_only], capture_output=True, check=False).returncode:
        pytest.skip("This machine does not let a test mount a folder read-only.")
    script = f"{read_only} && {sys.executable} manage.py migrate -v0 && exec {shlex.join(words)}"
    process = subprocess.Popen(
        [*namespace, "sh", "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    yield process, environment
    process.kill()
    process.wait(60)


def test_the_image_serves_on_a_read_only_root_and_its_health_check_agrees(root: Path, container):
    process, environment = container
    url = f"http://127.0.0.1:{environment['PORT']}"

    def answers() -> bool:
        try:
            return process.poll() is not None or httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    assert eventually(answers, seconds=300)
    assert process.poll() is None, process.stdout.read().decode()
    [check] = texts("HEALTHCHECK")
    words = ast.literal_eval(check.partition("CMD ")[2])
    assert subprocess.run([sys.executable, *words[1:]], env=environment, check=False).returncode == 0
    assert httpx.get(f"{url}/docs/start/quickstart/", trust_env=False).status_code == 200
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(
            ["nsenter", "--mount", "--target", str(process.pid), "touch", str(root / "manage.py")],
            capture_output=True,
            check=True,
        )
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS_TO_STOP) in (0, -signal.SIGTERM)
    dead = subprocess.run([sys.executable, *words[1:]], env=environment, capture_output=True, check=False)
    assert dead.returncode != 0

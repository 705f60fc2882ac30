"""S3 in a process of its own: Moto, which keeps objects in memory and checks signatures and policies."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import httpx

from tests.services.server import START_SECONDS, UnavailableError, dies_with, eventually, free_port

REGION = "eu-central-1"
ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@dataclass
class S3:
    url: str
    process: subprocess.Popen[bytes]
    owner: Mapping[str, str]  # credentials

    def environment(self, credentials: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables by which a program finds the server."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": REGION, **(credentials or self.owner)}

    def client(self, service: str, credentials: Mapping[str, str] | None = None) -> Any:
        import boto3

        keys = {name.lower(): value for name, value in (credentials or self.owner).items()}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **keys)

    def create_bucket(self, name: str) -> None:
        self.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})

    def create_user(self, name: str, policy: Mapping[str, object]) -> dict[str, str]:
        """Return the credentials of a new user with this policy."""
        return create_user(self.client("iam"), name, policy)

    def pause(self) -> None:
        """Let connections succeed, but answer nothing until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


def create_user(iam: Any, name: str, policy: Mapping[str, object]) -> dict[str, str]:
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="access", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


@contextmanager
def s3() -> Iterator[S3]:
    if not (find_spec("moto") and find_spec("boto3") and find_spec("flask_cors")):
        raise UnavailableError("Moto is not installed: see requirements-edge.txt.")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)],
        env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "3"},  # for those of `create_user`
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=dies_with(os.getpid(), signal.SIGKILL),  # noqa: PLW1509
    ) as process:
        try:
            if not eventually(lambda: answers(url), START_SECONDS):
                raise UnavailableError("Moto did not start.")
            server = S3(url, process, {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"})
            server.owner = create_user(server.client("iam"), "owner", ALL)
            yield server
        finally:
            process.kill()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/moto-api/data.json", trust_env=False).is_success
    except httpx.TransportError:
        return False

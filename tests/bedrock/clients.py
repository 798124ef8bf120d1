"""boto3 and aiobotocore as a test uses them: one question, and what botocore made of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

import boto3
from aiobotocore.session import get_session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

import seamstream
from seamstream.recovery.policy import BackoffPolicy, RecoveryPolicy
from seamstream.testing.exchange import Exchange

Kind = Literal["boto3", "aiobotocore"]
AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.0, max_s=0.0))
KEY, SECRET, REGION = "AKIDEXAMPLE", "a-secret-that-stays-here", "eu-west-1"
QUESTION: dict[str, Any] = {
    "modelId": "test-model",
    "messages": [{"role": "user", "content": [{"text": "What is a reef?"}]}],
    "inferenceConfig": {"maxTokens": 500},
}


@dataclass
class Read:
    """What a caller got."""

    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    stop: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    error: BaseException | None = None

    def take(self, event: dict[str, Any]) -> None:
        """One event, as botocore gives it."""
        [(name, said)] = event.items()
        self.events.append(name)
        if name == "contentBlockStart" and "toolUse" in said.get("start", {}):
            self.calls.append((said["start"]["toolUse"]["name"], ""))
        delta = said.get("delta", {}) if name == "contentBlockDelta" else {}
        self.text += delta.get("text", "")
        if "toolUse" in delta:
            called, arguments = self.calls[-1]
            self.calls[-1] = (called, arguments + delta["toolUse"]["input"])
        if name == "messageStop":
            self.stop = said["stopReason"]

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.metadata["HTTPHeaders"])

    @property
    def same(self) -> tuple[str, list[tuple[str, str]], str]:
        return self.text, self.calls, self.stop


@asynccontextmanager
async def client_of(
    kind: Kind,
    url: str,
    *,
    wrapped: bool = True,
    policy: RecoveryPolicy = AT_ONCE,
    read_timeout: float = 60.0,
    **options: Any,
) -> AsyncIterator[Any]:
    """A client of that package, wrapped or bare, without retries of its own."""
    settings = {
        "endpoint_url": url,
        "region_name": REGION,
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "config": Config(retries={"total_max_attempts": 1}, read_timeout=read_timeout),
    }
    if kind == "boto3":
        client = boto3.client("bedrock-runtime", **settings)
        yield seamstream.wrap(client, policy, **options) if wrapped else client
    else:
        async with get_session().create_client("bedrock-runtime", **settings) as client:
            yield seamstream.wrap(client, policy, **options) if wrapped else client


async def ask(kind: Kind, client: Any, question: dict[str, Any] | None = None, *, until: str = "") -> Read:
    """Ask once, and leave behind the first event called `until`; `error` is what the caller was raised."""
    answer = Read()
    if kind == "boto3":
        await asyncio.to_thread(_read_sync, client, question or QUESTION, answer, until)
    else:
        await _read_async(client, question or QUESTION, answer, until)
    return answer


async def read(kind: Kind, url: str, question: dict[str, Any] | None = None, **options: Any) -> Read:
    """Ask once with a client of its own."""
    async with client_of(kind, url, **options) as client:
        return await ask(kind, client, question)


def _read_sync(client: Any, question: dict[str, Any], answer: Read, until: str) -> None:
    try:
        response = client.converse_stream(**question)
        answer.metadata = response["ResponseMetadata"]
        with closing(response["stream"]) as stream:
            for event in stream:
                answer.take(event)
                if until in event:
                    break
    except Exception as error:
        answer.error = error


async def _read_async(client: Any, question: dict[str, Any], answer: Read, until: str) -> None:
    try:
        response = await client.converse_stream(**question)
        answer.metadata = response["ResponseMetadata"]
        with closing(response["stream"]) as stream:
            async for event in stream:
                answer.take(event)
                if until in event:
                    break
    except Exception as error:
        answer.error = error


def is_signed(exchange: Exchange, url: str) -> bool:
    """Does the signature that came fit the request that came?"""
    authorization = exchange.headers["authorization"]
    fields = dict(part.split("=", 1) for part in authorization.partition(" ")[2].split(", "))
    signed = {name: exchange.headers[name] for name in fields["SignedHeaders"].split(";")}
    request = AWSRequest("POST", url + quote(exchange.path), headers=signed, data=exchange.raw_body)
    request.context["timestamp"] = exchange.headers["x-amz-date"]
    auth = SigV4Auth(Credentials(KEY, SECRET), "bedrock", REGION)
    canonical = auth.canonical_request(request)
    return auth.signature(auth.string_to_sign(request, canonical), request) == fields["Signature"]

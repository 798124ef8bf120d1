"""The model that an agent asks: where, with what request, under which policy, and with whose credentials."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from yarl import URL

from ..errors import ConfigurationError
from ..recognise import dialect_of
from ..recovery.continuation.dialects import form_of
from ..recovery.continuation.facts import Dialect
from ..recovery.continuation.profile import Profile
from ..recovery.continuation.profiles import ProfileBook
from ..recovery.policy import RecoveryPolicy
from .conversations import Conversation, conversation_of
from .prices import PriceTable
from .tools import called

Headers = Mapping[str, str]
Credentials = Callable[[str], Headers | Awaitable[Headers | None] | None]
"""Given a tenant, the headers that hold its credentials; None when there are none now: its tasks wait."""

_JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class ModelTarget:
    """One model at one URL. `request` holds the members that all requests share, like the model's name;
    `credentials` are asked for in each process and never stored.
    """

    url: str
    request: Mapping[str, Any] = field(default_factory=dict)
    credentials: Headers | Credentials = field(default_factory=dict, repr=False)
    policy: RecoveryPolicy = field(default_factory=RecoveryPolicy.agent)
    profiles: tuple[Profile, ...] = ()
    prices: PriceTable = field(default_factory=dict)

    def __post_init__(self) -> None:
        conversation_of(self.dialect)

    @property
    def conversation(self) -> Conversation:
        """How this provider's messages are written."""
        host = (URL(self.url).host or "").lower()
        model = self.model_of(self.request)
        return conversation_of(
            self.dialect, ProfileBook(self.profiles).profile(host=host, dialect=self.dialect, model=model)
        )

    def model_of(self, request: Mapping[str, Any]) -> str:
        """The model that a request asks for, in its body or in the URL."""
        return form_of(self.dialect).model(request, URL(self.url).path)

    @property
    def dialect(self) -> Dialect:
        """The wire protocol, by the URL's path; ConfigurationError for one that tells none."""
        path = URL(self.url).path
        dialect = dialect_of("POST", path, _JSON)
        if dialect is None:
            raise ConfigurationError(f"the path {path!r} tells no dialect")
        return dialect

    async def headers(self, tenant: str) -> Headers | None:
        """The headers for one tenant's requests."""
        if not callable(self.credentials):
            return self.credentials
        headers: Headers | None = await called(self.credentials, tenant)
        return headers

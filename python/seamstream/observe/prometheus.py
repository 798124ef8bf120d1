"""Counters for Prometheus. The client library is imported only when a sink is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigurationError
from .counts import COUNTERS, counts
from .hooks import Record

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class PrometheusSink:
    """Counts, under names like `seamstream_streams_total`, in the given or the default registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client
        except ImportError as error:
            hint = "pip install 'seamstream[prometheus]'"
            raise ConfigurationError(f"PrometheusSink needs prometheus-client: {hint}") from error
        target = registry if registry is not None else prometheus_client.REGISTRY
        self._counters = {
            name: prometheus_client.Counter(f"seamstream_{name}", help_text, labels, registry=target)
            for name, (help_text, labels) in COUNTERS.items()
        }

    def record(self, record: Record) -> None:
        for count in counts(record):
            self._counters[count.name].labels(*count.labels).inc(count.amount)

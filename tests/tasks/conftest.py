"""The stores that two processes can share, as the tests of stores have them."""

from tests.stores.conftest import nats_server, postgres_server, redis_server, store_server, store_url

__all__ = ["nats_server", "postgres_server", "redis_server", "store_server", "store_url"]

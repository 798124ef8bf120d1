"""The httpx transports and `wrap` on real sockets, with httpx2 and httpx, async and sync."""

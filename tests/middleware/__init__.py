"""The middleware on real sockets: it heals what breaks and leaves everything else as stock aiohttp has it."""

"""The driver without sockets: timers, budgets, waits, records, and failing open."""

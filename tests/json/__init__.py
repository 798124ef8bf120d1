"""JsonScanner: is a tool call's arguments text whole, open or broken."""

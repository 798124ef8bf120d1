"""Where attempts go, what is shown to the hook before they go, and what that does to targets in trouble."""

"""First do no harm: healthy streams pass untouched, and hostile ones cost bounded memory."""

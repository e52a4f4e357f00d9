-- Why: a claim also tells which request put the job in.
-- Locks: creates functions; nothing that exists is locked.

SELECT 1;

-- Why: what operators do is a function, so that SQL, HTTP and TypeScript do the same.
-- Locks: creates functions; nothing that exists is locked.

SELECT 1;

/** The newest migration that this code rests on: what `migrations/` ends with (a test says so). A newer database is fine. */
export const SCHEMA_VERSION = 20;

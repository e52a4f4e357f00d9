/** SQL: the format of `to_char(… AT TIME ZONE 'UTC', …)` for ISO 8601 with microseconds, so that text compares as time. A Date has none. */
export const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

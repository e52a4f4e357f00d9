/** SQL: the time that this expression gives as ISO 8601 in UTC with microseconds, so that text compares as time. A Date has none. */
export function isoText(expression: string): string {
  return `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

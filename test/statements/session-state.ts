/** Where a statement begins: a text, behind another, within a block of plpgsql, or in what that executes. */
const BEGINS = String.raw`(?:^|;|\b(?:BEGIN|THEN|ELSE|LOOP)\b|\bEXECUTE\s+(?:format\()?')\s*`;

/** Arguments of a call, with calls among them, two deep. */
const WITHIN = String.raw`(?:[^()]|\((?:[^()]|\([^()]*\))*\))*`;

/**
 * What a statement may not do, since it outlives its transaction: a pooler in transaction mode gives the next one another
 * connection of the server, and RDS Proxy keeps a client for itself that did so.
 * https://www.pgbouncer.org/features.html, https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-proxy-pinning.html
 */
const STATE: Readonly<Record<string, RegExp>> = {
  // SET of a function's own, within CREATE FUNCTION, begins no statement.
  'a setting of the session': new RegExp(
    `${BEGINS}(?:SET(?!\\s+(?:LOCAL|CONSTRAINTS|TRANSACTION)\\b)|RESET|DISCARD)\\s|\\bset_config\\(${WITHIN},\\s*false\\s*\\)`,
    'i',
  ),
  'a channel': new RegExp(`${BEGINS}(?:UN)?(?:LISTEN|NOTIFY)\\s|\\bpg_notify\\b`, 'i'),
  'a prepared statement': new RegExp(`${BEGINS}(?:PREPARE|DEALLOCATE)\\s`, 'i'),
  'a lock of the session': /\bpg_(?:try_)?advisory_(?!xact_)\w+/i,
  'a temporary table': /\bTEMP(?:ORARY)?\s+(?:TABLE|VIEW|SEQUENCE)\b|\bpg_temp\./i,
  'a cursor': /\bCURSOR\b|\bWITH\s+HOLD\b/,
  'the last value of a sequence': /\b(?:currval|lastval)\(/i,
};

/** The kinds of state that it leaves behind on its connection. Comments do not count. */
export function stateOf(sql: string): string[] {
  const text = sql.replace(/--.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '');
  return Object.entries(STATE).flatMap(([what, pattern]) => (pattern.test(text) ? [what] : []));
}

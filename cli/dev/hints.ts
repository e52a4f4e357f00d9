import type { Runtime } from '../../local/runtime.ts';
import type { DevSettings } from './run-dev.ts';

/** What the samples take; of another kind the refusal says what is missing. */
const PAYLOADS: Readonly<Record<string, string>> = {
  'hello.greet': '{"name":"Ada"}',
  'welcome.send': '{"email":"ada@example.org"}',
};

/** What to do now. */
export function hints({ url, hasApi, kinds }: Runtime, { auth, command }: DevSettings): string[] {
  if (!hasApi)
    return ['there is no HTTP API: jobs come in by SQL, into the database that .millrace/runtime.json names'];
  const authorization = auth ? '-H "authorization: Bearer $TOKEN" ' : '';
  const kind = kinds.find((name) => name in PAYLOADS) ?? kinds[0] ?? 'hello.greet';
  const payload = PAYLOADS[kind] ?? '{}';
  return [
    ...(auth ? [`it wants tokens:  TOKEN=$(${command} token create --name me --role operator)`] : []),
    `try it:  curl ${url}/jobs ${authorization}-H 'content-type: application/json' -d '{"kind":"${kind}","payload":${payload}}'`,
    ...(auth ? [] : [`    or:  ${command} enqueue ${kind} '${payload}'`]),
  ];
}

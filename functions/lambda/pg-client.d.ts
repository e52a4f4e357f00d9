/**
 * The client of pg without its pool and its native twin, which no function uses: 15 KB less to load on each cold start.
 * The types of pg do not know it by this path.
 */
declare module 'pg/lib/client.js' {
  import type { Client } from 'pg';

  const client: typeof Client;
  export default client;
}

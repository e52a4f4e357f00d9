import { openClient } from '../../support/database.ts';
import type { Payload, System } from '../systems/system.ts';
import type { BenchDatabase, Server } from './server.ts';

/** To be copied: `server.database(template.name)`. Nobody is connected to it. */
export type Template = Pick<BenchDatabase, 'name'>;

const made = new WeakMap<Server, Map<string, Promise<Template>>>();

/** A database with the system's tables and nothing in them. Made once for a server, and kept. */
export function installed(server: Server, system: System): Promise<Template> {
  return once(server, system.storage, async () => {
    const database = await server.database();
    await system.install(database.url);
    return database;
  });
}

/** A database in which so many jobs wait, with statistics, without rows to be vacuumed. Made once for a server, and kept. */
export function loaded(server: Server, system: System, jobs: number, more: object = {}): Promise<Template> {
  return once(server, `${system.storage} ${jobs} ${JSON.stringify(more)}`, async () => {
    const database = await server.database((await installed(server, system)).name);
    const producer = await system.producer(database.url, CALLERS);
    const payloads = Array.from({ length: jobs }, (_, n): Payload => ({ n, ...more }));
    const caller = async () => {
      while (payloads.length > 0) await producer.enqueueMany(payloads.splice(0, BATCH));
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    await producer.close();
    const client = await openClient(database.url);
    await client.query('VACUUM (ANALYZE)').finally(() => client.end());
    return database;
  });
}

const CALLERS = 2;
const BATCH = 1000;

function once(server: Server, name: string, make: () => Promise<Template>): Promise<Template> {
  const here = made.get(server) ?? new Map<string, Promise<Template>>();
  made.set(server, here);
  const template = here.get(name) ?? make();
  here.set(name, template);
  return template;
}

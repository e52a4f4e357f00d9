/** `npm run demo [-- --chaos]`: real webhook deliveries through the queue, tallied and compared. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { connector } from '../functions/lambda/connect.ts';
import { readDeliveries } from '../local/demo/deliveries.ts';
import { findOrStart } from '../local/demo/host.ts';
import { openProgress } from '../local/demo/progress.ts';
import { seeded } from '../local/demo/random.ts';
import { runDemo } from '../local/demo/run-demo.ts';
import { summaryOf } from '../local/demo/summary.ts';
import { onStopSignal } from '../local/stop-signals.ts';

const USAGE = 'npm run demo [-- --chaos [--kills 5] [--seed 7]]';

const abort = new AbortController();
// The second time it does not wait: a runtime of its own drains by itself.
onStopSignal(() => (abort.signal.aborted ? process.exit(1) : abort.abort()));
// Who reads the output may go: `npm run demo | head`.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => abort.abort());

try {
  process.exitCode = await demo();
} catch (error) {
  console.error(abort.signal.aborted ? 'stopped' : (error as Error).message);
  process.exitCode = 1;
}

async function demo(): Promise<number> {
  const { chaos, kills, seed } = readArguments();
  const deliveries = readDeliveries();
  const env = { PORT: process.env.PORT || '0', MILLRACE_AUTH: 'off' };
  const host = await findOrStart(resolve('.millrace'), env, abort.signal);
  try {
    const { url, databaseUrl } = await host.info();
    console.log(`${deliveries.length} webhook deliveries go to ${url}${host.own ? '' : ', the runtime that is up'}`);
    if (chaos) {
      console.log(`chaos: ${kills} workers get SIGKILL (seed ${seed}); their jobs come back when their leases run out`);
    }
    const db = await connector({ DATABASE_URL: databaseUrl, DATABASE_CA_FILE: process.env.DATABASE_CA_FILE }, 'demo')();
    const progress = openProgress(deliveries.length);
    const options = { deliveries, kills: chaos ? kills : 0, random: seeded(seed), progress, signal: abort.signal };
    const result = await runDemo(host, db, options).finally(() => {
      progress.stop();
      return db.end();
    });
    for (const line of summaryOf(result, deliveries.length)) console.log(line);
    return result.differences.length === 0 ? 0 : 1;
  } catch (error) {
    if (!abort.signal.aborted) for (const line of host.lines.slice(-20)) console.error(line);
    throw error;
  } finally {
    await host.stop();
  }
}

function readArguments(): { chaos: boolean; kills: number; seed: number } {
  const options = {
    chaos: { type: 'boolean', default: false },
    kills: { type: 'string', default: '5' },
    seed: { type: 'string' },
  } as const;
  try {
    const { values } = parseArgs({ options });
    const seed = whole('--seed', values.seed ?? String(Math.floor(Math.random() * 1e6)), 0, 2 ** 32 - 1);
    return { chaos: values.chaos, kills: whole('--kills', values.kills, 1, 100), seed };
  } catch (error) {
    throw new Error(`${(error as Error).message}\nusage: ${USAGE}`);
  }
}

function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${name} takes a whole number from ${min} to ${max}, not "${text}"`);
}

import { type Costs, calibrate } from './check/calibrate.ts';
import { type Ground, prepareGround } from './check/ground.ts';
import { type Load, loads } from './check/loads.ts';
import { JOB_SPREAD, measure } from './check/measure.ts';
import { profileOf } from './profile.ts';
import { simulate } from './simulate.ts';
import { type Trace, traceOf } from './trace.ts';

/** By how much a simulated rate or time may differ from the real one. */
const TOLERANCE = 0.2;

/** One figure, both ways. */
export interface Compared {
  readonly load: string;
  readonly what: string;
  readonly real: number;
  readonly simulated: number;
  readonly within: boolean;
}

/**
 * Runs the same loads on real workers with a Postgres of its own, and on the virtual clock. What a statement and a job cost on this
 * machine is measured first, by a load that is none of those. Resolves whether all is within a fifth.
 */
export async function check({ json }: { readonly json: boolean }): Promise<boolean> {
  const ground = await prepareGround();
  try {
    const costs = await calibrate(ground);
    const compared: Compared[] = [];
    for (const load of loads()) compared.push(...(await compare(ground, load, costs)));
    console.log(json ? JSON.stringify({ costs, compared }, null, 2) : lines(costs, compared));
    return compared.every(({ within }) => within);
  } finally {
    await ground.close();
  }
}

async function compare(ground: Ground, load: Load, costs: Costs): Promise<Compared[]> {
  const measured = await measure(ground, load);
  const { concurrency, starts, seconds, jobMs } = load;
  const simulated = simulate({
    trace: recordedAs(load.arrivals),
    profile: {
      ...profileOf(load.lingerSeconds === Infinity ? 'second' : 'minute'),
      ...costs,
      concurrency,
      slots: starts.length,
      timeout: seconds + 60,
      'job-ms': jobMs,
      'job-spread': JOB_SPREAD,
      'cold-ms': 0,
    },
    seconds,
    seed: 1,
    starts,
  });
  return load.figures.map(({ what, real, simulated: ofSimulated }) => {
    const both = { real: real(measured), simulated: ofSimulated(simulated) };
    return { load: load.name, what, ...both, within: Math.abs(both.simulated / both.real - 1) <= TOLERANCE };
  });
}

function recordedAs(arrivals: readonly number[]): Trace {
  return {
    ...traceOf('burst:1'),
    arrivals: () => {
      let at = 0;
      return () => arrivals[at++] ?? Infinity;
    },
  };
}

function lines(costs: Costs, compared: readonly Compared[]): string {
  const measured = Object.entries(costs).map(([name, value]) => `${name} ${Number(value).toFixed(3)}`);
  return [
    `measured on this machine: ${measured.join(', ')}`,
    ...compared.map(
      ({ load, what, real, simulated, within }) =>
        `${within ? 'ok  ' : 'OFF '} ${load}: ${what}: real ${real.toFixed(2)}, simulated ${simulated.toFixed(2)} (${((simulated / real - 1) * 100).toFixed(0)}%)`,
    ),
  ].join('\n');
}

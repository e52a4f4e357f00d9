import type { Profiler } from 'node:inspector';

export interface SelfTime {
  /** `name path:line`, or `(program)`, `(garbage collector)`, `(idle)`. */
  readonly what: string;
  readonly ms: number;
}

/** What each function took itself, without what it called, the longest first. Several profiles are added up. */
export function selfTimes(profiles: readonly Profiler.Profile[], nameOf: (frame: Frame) => string): SelfTime[] {
  const times = new Map<string, number>();
  for (const { nodes, samples = [], timeDeltas = [] } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    samples.forEach((id, n) => {
      // A delta leads to its sample: what was seen there went on until the next one.
      const what = nameOf(frames.get(id) as Frame);
      times.set(what, (times.get(what) ?? 0) + (timeDeltas[n + 1] ?? 0) / 1000);
    });
  }
  return [...times].map(([what, ms]) => ({ what, ms })).sort((one, other) => other.ms - one.ms);
}

export type Frame = Profiler.Profile['nodes'][number]['callFrame'];

export function functionName({ functionName, url, lineNumber }: Frame): string {
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name} ${pathOf(url)}:${lineNumber + 1}`;
}

/** The file, or all of a package together. */
export function moduleName({ functionName, url }: Frame): string {
  if (url === '') return functionName;
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? pathOf(url);
}

/** From the repository's root, as far as it lies there. */
function pathOf(url: string): string {
  return url.replace(new URL('../../../', import.meta.url).href, '');
}

import type { Chart, Panel } from '../plot/chart.ts';
import type { Soak, SoakWindow } from './series.ts';

/** Soaks of several systems beside each other: all with the horizon pinned, or none. `notes`: on what they were measured. */
export function soakChart(soaks: readonly Soak[], notes: readonly string[]): Chart {
  const pinned = soaks.some((soak) => soak.pinned);
  const panel = (title: string, scale: Panel['scale'], value: (window: SoakWindow) => number | null): Panel => ({
    title,
    scale,
    lines: soaks.map(({ system, windows }) => ({
      name: system,
      points: windows.map((window) => [window.second / 60, value(window)] as const),
    })),
  });
  return {
    title: `At 70% of what each takes${pinned ? ', while a transaction stays open' : ''}`,
    notes: [...soaks.map(rate), ...notes],
    across: 'minutes',
    panels: [
      panel('jobs begun each second', 'linear', ({ begunPerSecond }) => begunPerSecond),
      panel('99 of 100 waited less to begin, ms', 'log', ({ p99Ms }) => p99Ms),
      panel(
        'queue table and its indexes, MB',
        'linear',
        ({ tableBytes, indexBytes }) => (tableBytes + indexBytes) / 1e6,
      ),
      panel('dead rows in the queue table', 'linear', ({ deadRows }) => deadRows),
      panel('everything else that is kept, MB', 'linear', ({ restBytes }) => restBytes / 1e6),
    ],
  };
}

function rate({ system, version, capacityPerSecond, perSecond }: Soak): string {
  return `${system} (${version}): ${whole(perSecond)} of ${whole(capacityPerSecond)} jobs/s`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

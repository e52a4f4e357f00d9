import type { GuardedRoute, LocalApp, Target } from './app.ts';
import type { LocalFunction } from './function.ts';
import type { Gateway } from './gateway.ts';
import type { Invocations } from './invocations.ts';
import type { Processes } from './processes.ts';
import { type RunningSchedules, runSchedules, type ScheduleOptions } from './schedules.ts';
import type { Threads } from './threads.ts';

export interface ServingParts {
  readonly gateway: Gateway;
  readonly invocations: Invocations;
  readonly threads: Threads;
  readonly processes: Processes;
  readonly tickSeconds: number | undefined;
  readonly onEnd: ScheduleOptions['onEnd'];
}

/** The app that runs now: its functions, and all by which they are started. */
export class Serving {
  readonly #parts: ServingParts;
  readonly #schedules: RunningSchedules;
  #app: LocalApp;

  /** From now on it is served. */
  constructor(app: LocalApp, parts: ServingParts) {
    const { processes, tickSeconds, onEnd } = parts;
    this.#parts = parts;
    this.#app = app;
    parts.threads.replace(functionsOf(app.routes));
    this.#schedules = runSchedules(app.schedules, {
      tickSeconds,
      start: (fn, event) => processes.start(fn, event),
      onEnd,
    });
    parts.invocations.open(app.woken);
    parts.gateway.open(app.routes);
  }

  /** Folders of the bundles. */
  get directories(): Set<string> {
    const { routes, schedules, woken } = this.#app;
    const functions = [...functionsOf(routes), ...schedules.map(({ fn }) => fn), ...woken.values()];
    return new Set(functions.map(({ directory }) => directory));
  }

  /**
   * What lies in these folders is new: whatever starts from now on runs it. Workers of the old drain, so that what they have not
   * finished goes back with its attempt; new ones start at once, and again when the old are gone, for what these gave back.
   */
  renew(directories: ReadonlySet<string>): void {
    const { gateway, invocations, threads, processes } = this.#parts;
    const renewed = new Map<LocalFunction, LocalFunction>();
    const current = (fn: LocalFunction) => {
      if (!directories.has(fn.directory)) return fn;
      const copy = renewed.get(fn) ?? { ...fn };
      renewed.set(fn, copy);
      return copy;
    };
    this.#app = withFunctions(this.#app, current);
    threads.replace(functionsOf(this.#app.routes));
    invocations.open(this.#app.woken);
    gateway.open(this.#app.routes);
    this.#schedules.replace(this.#app.schedules);
    void processes.replace(new Set(renewed.keys())).then(() => this.#schedules.tick());
  }

  tick(): void {
    this.#schedules.tick();
  }

  stop(): void {
    this.#schedules.stop();
  }
}

function withFunctions(app: LocalApp, current: (fn: LocalFunction) => LocalFunction): LocalApp {
  const target = <T extends { readonly fn: LocalFunction }>(of: T): T =>
    current(of.fn) === of.fn ? of : { ...of, fn: current(of.fn) };
  const route = (of: Target<GuardedRoute>): Target<GuardedRoute> => {
    const { guard } = of;
    return target(guard.kind === 'function' ? { ...of, guard: { ...guard, fn: current(guard.fn) } } : of);
  };
  return {
    ...app,
    routes: app.routes.map(route),
    schedules: app.schedules.map(target),
    woken: new Map([...app.woken].map(([name, fn]) => [name, current(fn)])),
  };
}

/** Those that answer, and those that are asked before. */
function functionsOf(routes: readonly Target<GuardedRoute>[]): LocalFunction[] {
  return routes.flatMap(({ fn, guard }) => (guard.kind === 'function' ? [fn, guard.fn] : [fn]));
}

import * as z from 'zod';
import { type Guard, guardOf } from './authorizer.ts';
import type { LocalVariables } from './environment.ts';
import type { LocalFunction } from './function.ts';
import { type FunctionOf, Functions } from './functions.ts';
import { chooseQueue } from './queue-choice.ts';
import { type Route, routeOf } from './routes.ts';
import { StartError } from './start-error.ts';
import { nameOf, ofType, pointedTo, type Queue, readStacks, type Stack } from './template.ts';

export type { FunctionOf } from './functions.ts';

/** What of a synthesized stack runs here: an HTTP API and schedules. */
export interface LocalApp {
  readonly routes: readonly Target<GuardedRoute>[];
  readonly schedules: readonly Target<Schedule>[];
  /** Functions that others start, by the names that Lambda has for them. */
  readonly woken: ReadonlyMap<string, LocalFunction>;
  /** The queue that runs, and its kinds; undefined for stacks that name none. */
  readonly queue: Queue | undefined;
  /** Sentences about what the template asks for and the local runtime does not do. */
  readonly notes: readonly string[];
}
/** A route, and who is asked before a request gets there. */
export type GuardedRoute = Route & { readonly guard: Guard };
export type Target<Trigger> = Trigger & { readonly fn: LocalFunction };

export interface Schedule {
  readonly name: string;
  readonly everySeconds: number;
  /** What the function is given. */
  readonly event: unknown;
}

export interface ReadOptions {
  /** Where functions find the values that the template leaves to it. Default: the environment of this process. */
  readonly shell?: NodeJS.ProcessEnv | undefined;
  /** Which queue, where the app has several: its path, or that of its stack. */
  readonly stack?: string | undefined;
}

/**
 * Reads routes, schedules and their functions out of the synthesized templates, by resource type alone.
 * @param own what every function is told beyond the template
 * @throws StartError `template_unusable` when there is nothing to run, `bad_setting` when it must be said which queue
 */
export async function readApp(
  assembly: string,
  own: LocalVariables,
  { shell = process.env, stack }: ReadOptions = {},
): Promise<LocalApp> {
  const { stacks, queue } = chooseQueue(await readStacks(assembly), stack);
  const functions = new Functions(own, shell, queue?.path);
  const parts = stacks.map((stack) => ({
    ...readRoutes(stack, functions.of(stack)),
    ...readSchedules(stack, functions.of(stack)),
    woken: functions.woken(stack),
  }));
  const app = {
    routes: parts.flatMap((part) => part.routes),
    schedules: parts.flatMap((part) => part.schedules),
    woken: new Map(parts.flatMap((part) => part.woken)),
    queue,
    notes: [...parts.flatMap((part) => part.notes), ...functions.notes()],
  };
  if (app.routes.length > 0 || app.schedules.length > 0) return app;
  throw new StartError(
    'template_unusable',
    'The synthesized stacks have neither an HTTP API route nor a schedule with a Lambda function: nothing to run.',
  );
}

function readRoutes(stack: Stack, functionOf: FunctionOf) {
  const routes = ofType(stack, 'AWS::ApiGatewayV2::Route').flatMap(([, { Properties }]) => {
    const [, integration] = pointedTo(stack, Properties.Target, 'AWS::ApiGatewayV2::Integration') ?? [];
    const fn = functionOf(integration?.Properties.IntegrationUri);
    if (fn === undefined) return [];
    const timeoutMs = z.number().default(30_000).parse(integration?.Properties.TimeoutInMillis);
    return [{ ...routeOf(String(Properties.RouteKey), timeoutMs), fn, guard: guardOf(stack, Properties, functionOf) }];
  });
  return { routes };
}

function readSchedules(stack: Stack, functionOf: FunctionOf) {
  const schedules: Target<Schedule>[] = [];
  const notes: string[] = [];
  for (const [id, resource] of ofType(stack, 'AWS::Scheduler::Schedule')) {
    const { ScheduleExpression, State, Target } = resource.Properties as Record<string, unknown>;
    const target = z.looseObject({ Arn: z.unknown(), Input: z.unknown() }).parse(Target);
    const fn = functionOf(target.Arn);
    const name = nameOf(id, resource);
    if (fn === undefined || State === 'DISABLED') continue;
    const everySeconds = rateSeconds(String(ScheduleExpression));
    if (everySeconds === undefined) {
      notes.push(
        `The schedule ${name} does not run here: "${ScheduleExpression}" is no rate(…), the one form that the local runtime knows.`,
      );
    } else {
      schedules.push({ name, everySeconds, event: inputOf(target.Input), fn });
    }
  }
  return { schedules, notes };
}

/** Seconds of `rate(5 minutes)`; undefined for cron(…) and at(…). */
export function rateSeconds(expression: string): number | undefined {
  const [, amount, unit] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  if (amount === undefined || Number(amount) === 0) return undefined;
  return Number(amount) * { minute: 60, hour: 3600, day: 86_400 }[unit as 'minute' | 'hour' | 'day'];
}

function inputOf(input: unknown): unknown {
  if (typeof input !== 'string') return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

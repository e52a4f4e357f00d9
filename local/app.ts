import { join } from 'node:path';
import * as z from 'zod';
import { type Guard, guardOf } from './authorizer.ts';
import { type LocalVariables, sandboxEnvironment } from './environment.ts';
import type { LocalFunction } from './function.ts';
import { type Route, routeOf } from './routes.ts';
import { StartError } from './start-error.ts';
import { ofType, pointedTo, type Resource, readStacks, type Stack } from './template.ts';

/** What of a synthesized stack runs here: an HTTP API and schedules. */
export interface LocalApp {
  readonly routes: readonly Target<GuardedRoute>[];
  readonly schedules: readonly Target<Schedule>[];
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

const FunctionProperties = z.looseObject({
  Handler: z.string(),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  Environment: z.looseObject({ Variables: z.record(z.string(), z.unknown()).default({}) }).default({ Variables: {} }),
});

/**
 * Reads routes, schedules and their functions out of the synthesized templates, by resource type alone.
 * @throws StartError `template_unusable` when there is nothing to run
 */
export async function readApp(assembly: string, own: LocalVariables): Promise<LocalApp> {
  const stacks = await readStacks(assembly);
  const functions = new Map<Resource, LocalFunction>();
  const resolver = (stack: Stack) => (value: unknown) => {
    const [id, resource] = pointedTo(stack, value, 'AWS::Lambda::Function') ?? [];
    if (id === undefined || resource === undefined) return undefined;
    const fn = functions.get(resource) ?? readFunction(stack, id, resource, own);
    functions.set(resource, fn);
    return fn;
  };
  const parts = stacks.map((stack) => ({
    ...readRoutes(stack, resolver(stack)),
    ...readSchedules(stack, resolver(stack)),
  }));
  const app = {
    routes: parts.flatMap((part) => part.routes),
    schedules: parts.flatMap((part) => part.schedules),
    notes: parts.flatMap((part) => part.notes),
  };
  if (app.routes.length > 0) return app;
  throw new StartError(
    'template_unusable',
    'The synthesized stacks have no HTTP API route with a Lambda function: nothing to serve.',
  );
}

export type FunctionOf = (value: unknown) => LocalFunction | undefined;

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

function readFunction(stack: Stack, id: string, resource: Resource, own: LocalVariables): LocalFunction {
  const properties = FunctionProperties.parse(resource.Properties);
  const asset = resource.Metadata['aws:asset:path'];
  const name = nameOf(id, resource);
  if (typeof asset !== 'string') {
    throw new StartError(
      'template_unusable',
      `The function ${name} has no code from this repository (no aws:asset:path in the template): it cannot run here.`,
    );
  }
  const fn = { name, directory: join(stack.directory, asset), memoryMegabytes: properties.MemorySize };
  return {
    ...fn,
    handler: properties.Handler,
    timeoutSeconds: properties.Timeout,
    environment: sandboxEnvironment({ ...fn, variables: properties.Environment.Variables }, own),
  };
}

/** `Millrace/Jobs/Work/Resource` → `Work`; without path metadata the logical id. */
function nameOf(id: string, { Metadata }: Resource): string {
  const path = Metadata['aws:cdk:path'];
  const parts =
    typeof path === 'string' ? path.split('/').filter((part) => part !== 'Resource' && part !== 'Default') : [];
  return parts.at(-1) ?? id;
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

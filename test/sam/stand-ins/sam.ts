/**
 * Stands in for `sam`: writes down how it is called, and runs the functions of the template that it is given in the local
 * runtime's sandboxes. As SAM does, it passes the variables that the template declares, with the values of the environment
 * file; of the network it knows one host.
 */

import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { guardOf } from '../../../local/authorizer.ts';
import type { LocalFunction } from '../../../local/function.ts';
import { openGateway } from '../../../local/gateway.ts';
import { routeOf } from '../../../local/routes.ts';
import { startProcess } from '../../../local/sandbox-process.ts';
import { ofType, pointedTo, type Resource, type Stack } from '../../../local/template.ts';
import { Threads } from '../../../local/threads.ts';

const home = process.env.STAND_IN as string;
const args = process.argv.slice(2);
await appendFile(join(home, 'calls'), `${JSON.stringify({ name: 'sam', args })}\n`);
if (existsSync(join(home, `sam-${args.at(-1)}-fails`))) process.exit(1);
if (args[0] === 'local') await local();

async function local(): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: Object.fromEntries(
      ['template', 'env-vars', 'docker-network', 'host', 'port', 'event', 'warm-containers'].map((name) => [
        name,
        { type: 'string' as const },
      ]),
    ),
  });
  const given = (name: string) => String(values[name]);
  const functionOf = await functionsOf(given('template'), given('env-vars'));
  const onLine = (_: unknown, line: string) => console.error(line);
  if (positionals[1] === 'invoke') {
    const event = JSON.parse(await readFile(given('event'), 'utf8'));
    const { ended } = startProcess(functionOf.byId(positionals[2] as string), event, onLine);
    console.log(JSON.stringify(await ended));
    return;
  }
  const threads = new Threads(onLine);
  setInterval(() => existsSync(join(home, 'api-ends')) && process.exit(3), 100);
  const gateway = await openGateway({ port: Number(given('port')), invoke: threads.invoke, onAnswer: () => {} });
  gateway.open(
    ofType(functionOf.stack, 'AWS::ApiGatewayV2::Route').map(([, { Properties }]) => {
      const [, integration] = pointedTo(functionOf.stack, Properties.Target, 'AWS::ApiGatewayV2::Integration') ?? [];
      const fn = functionOf.pointedTo(integration?.Properties.IntegrationUri) as LocalFunction;
      const guard = guardOf(functionOf.stack, Properties, functionOf.pointedTo);
      return { ...routeOf(String(Properties.RouteKey), 30_000), fn, guard };
    }),
  );
  process.on('SIGINT', async () => {
    gateway.hurry();
    await threads.close();
    process.exit(0);
  });
}

async function functionsOf(template: string, environment: string) {
  const { Resources } = JSON.parse(await readFile(template, 'utf8'));
  const values: Record<string, Record<string, string>> = JSON.parse(await readFile(environment, 'utf8'));
  const resources = Object.entries(Resources as Record<string, Resource>).map(
    ([id, resource]) => [id, { ...resource, Metadata: resource.Metadata ?? {} }] as const,
  );
  const stack: Stack = { name: 'Stack', directory: dirname(template), resources: new Map(resources), queues: [] };
  const known = new Map<string, LocalFunction>();
  const byId = (id: string) => {
    const fn = known.get(id) ?? read(id);
    known.set(id, fn);
    return fn;
  };
  const read = (id: string): LocalFunction => {
    const { Properties, Metadata } = stack.resources.get(id) as Resource;
    const { Handler, Timeout, MemorySize, Environment } = Properties as unknown as FunctionProperties;
    const directory = join(stack.directory, String(Metadata['aws:asset:path']));
    const declared = Object.keys(Environment.Variables).map((name) => [name, values[id]?.[name] ?? '']);
    return {
      name: id,
      directory,
      handler: Handler,
      timeoutSeconds: Timeout,
      memoryMegabytes: MemorySize,
      environment: inContainer(Object.fromEntries(declared), directory),
    };
  };
  return {
    stack,
    byId,
    pointedTo: (value: unknown) => {
      const [id] = pointedTo(stack, value, 'AWS::Lambda::Function') ?? [];
      return id === undefined ? undefined : byId(id);
    },
  };
}

interface FunctionProperties {
  readonly Handler: string;
  readonly Timeout: number;
  readonly MemorySize: number;
  readonly Environment: { readonly Variables: Record<string, string> };
}

/** The network's `postgres` is a port of this machine, where TLS has to be asked for; and /var/task is the bundle. */
function inContainer(declared: Record<string, string>, directory: string): Record<string, string> {
  const { DATABASE_URL: url, TOKENS_FILE: tokens } = declared;
  const port = process.env.MILLRACE_SAM_POSTGRES_PORT;
  return {
    PATH: process.env.PATH as string,
    AWS_REGION: 'us-east-1',
    LAMBDA_TASK_ROOT: directory,
    ...declared,
    ...(url && { DATABASE_URL: `${url.replace('@postgres:5432/', `@127.0.0.1:${port}/`)}?sslmode=verify-full` }),
    ...(tokens && { TOKENS_FILE: join(directory, tokens) }),
  };
}

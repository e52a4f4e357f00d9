import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App, type AppProps, CfnElement, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';
import { JobQueue, type JobQueueFunctions, type JobQueueProps } from '../../lib/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8'));

// CDK's own check of a template takes three times as long as the rest; app.test.ts makes it once.
process.env.CDK_VALIDATION = 'false';

export interface Synthesized {
  readonly queue: JobQueue;
  readonly template: Template;
}

/** A PEM file with a certificate. */
export const CA_FILE = fileURLToPath(new URL('../functions/certificates/ca.pem', import.meta.url));

/** The sample jobs. */
export const SAMPLE = {
  contracts: 'functions/jobs/contracts.ts',
  processors: 'functions/jobs/processors.ts',
  projectRoot: root,
} as const satisfies JobQueueProps;

/**
 * Synthesizes a queue with the sample jobs, and what `define` adds to it. Handlers are not bundled here.
 * The props may need a scope: `(stack) => ({ vpc: new Vpc(stack, 'Vpc') })`.
 */
export function synthesize(
  props: (stack: Stack) => Partial<JobQueueProps> = () => ({}),
  define: (queue: JobQueue, stack: Stack) => void = () => {},
): Synthesized {
  return inApp({}, (app) => {
    const stack = new Stack(app, 'Millrace');
    const queue = new JobQueue(stack, 'Jobs', { ...SAMPLE, ...props(stack) });
    define(queue, stack);
    return { queue, template: Template.fromStack(stack) };
  });
}

/**
 * Defines an app whose handlers are not bundled, and leaves nothing behind of it.
 * @param own - props of the app. Default: the context is that of cdk.json
 */
export function inApp<Result>(own: AppProps, define: (app: App) => Result): Result {
  const outdir = mkdtempSync(join(tmpdir(), 'millrace-synth-'));
  try {
    return define(new App({ outdir, ...own, context: { ...(own.context ?? context), 'aws:cdk:bundling-stacks': [] } }));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** A function of the queue, by its name in `queue.functions`. */
export function functionOf({ queue }: Synthesized, name: keyof JobQueueFunctions): lambda.Function {
  const fn = queue.functions[name];
  if (fn === undefined) throw new Error(`this queue has no function ${name}`);
  return fn;
}

/** Logical id of a construct's resource. */
export function idOf(construct: IConstruct): string {
  const resource = construct.node.defaultChild;
  if (!CfnElement.isCfnElement(resource)) throw new Error(`${construct.node.path} is no single resource`);
  return Stack.of(construct).resolve(resource.logicalId);
}

// biome-ignore lint/suspicious/noExplicitAny: whatever CloudFormation takes; a test that reads what is not there fails.
export type Properties = Record<string, any>;

/** Properties of the only resource of that type which has these. */
export function only(template: Template, type: string, properties: object = {}): Properties {
  const found = Object.values(template.findResources(type, { Properties: properties }));
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} ${type} are like that, not one`);
  return first.Properties;
}

/** Properties of a construct's resource. */
export function propertiesOf(template: Template, construct: IConstruct): Properties {
  return template.toJSON().Resources[idOf(construct)].Properties;
}

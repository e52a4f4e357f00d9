import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App, CfnElement, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IConstruct } from 'constructs';
import { contracts } from '#contracts';
import { JobQueue, type JobQueueProps } from '../../lib/index.ts';

const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));

// CDK's own check of a template takes three times as long as the rest; app.test.ts makes it once.
process.env.CDK_VALIDATION = 'false';

export interface Synthesized {
  readonly queue: JobQueue;
  readonly template: Template;
}

/**
 * Synthesizes a queue with the sample jobs, and what `define` adds to it. Handlers are not bundled here.
 * The props may need a scope: `(stack) => ({ vpc: new Vpc(stack, 'Vpc') })`.
 */
export function synthesize(
  props: (stack: Stack) => Partial<JobQueueProps> = () => ({}),
  define: (queue: JobQueue, stack: Stack) => void = () => {},
): Synthesized {
  const outdir = mkdtempSync(join(tmpdir(), 'millrace-synth-'));
  try {
    const app = new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] } });
    const stack = new Stack(app, 'Millrace');
    const queue = new JobQueue(stack, 'Jobs', {
      contracts,
      contractsEntry: fileURLToPath(import.meta.resolve('#contracts')),
      processorsEntry: fileURLToPath(import.meta.resolve('#processors')),
      ...props(stack),
    });
    define(queue, stack);
    return { queue, template: Template.fromStack(stack) };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
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

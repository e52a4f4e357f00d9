import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { JobQueue, type JobQueueProps } from '../../lib/index.ts';
import { inApp, SAMPLE } from '../lib/synthesize.ts';

interface Report {
  readonly pluginReports: readonly {
    readonly pluginName: string;
    readonly violations: readonly {
      readonly ruleName: string;
      readonly violatingConstructs: readonly { readonly constructPath: string }[];
    }[];
  }[];
}

/**
 * What cdk-nag's packs AwsSolutions and Serverless say of a stack with a queue of these props, what the CDK adds for it and what
 * stands beside it included: `rule construct`.
 */
export function findings(props: (stack: Stack) => Partial<JobQueueProps>): string[] {
  return inApp({}, (app) => {
    const stack = new Stack(app, 'Millrace');
    new JobQueue(stack, 'Jobs', { ...SAMPLE, ...props(stack) });
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
    try {
      app.synth();
      return [];
    } catch (error) {
      if ((error as Error).name !== 'ValidationFailed') throw error;
      return reported(join(app.outdir, 'validation-report.json'));
    }
  });
}

function reported(file: string): string[] {
  const { pluginReports }: Report = JSON.parse(readFileSync(file, 'utf8'));
  // The CDK reports its own warnings there as well.
  const ofNag = pluginReports.filter(({ pluginName }) => ['AwsSolutions', 'Serverless'].includes(pluginName));
  return ofNag.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
    ),
  );
}

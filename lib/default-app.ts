import { App } from 'aws-cdk-lib';
import { JobQueueStack } from './job-queue-stack.ts';

/** A queue as it is by default, around two modules: what `npx millrace dev --contracts … --processors …` synthesizes. */
const app = new App();
const context = (name: string): string => app.node.getContext(`millrace:${name}`);

new JobQueueStack(app, 'Millrace', {
  contracts: context('contracts'),
  processors: context('processors'),
  projectRoot: context('projectRoot'),
});

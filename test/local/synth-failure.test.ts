import { expect, test } from 'vitest';
import { reasonOf } from '../../local/synth-failure.ts';
import { synthesize } from '../../local/synthesize.ts';
import { projectOf } from './project.ts';

const PROJECT = '/srv/mill race';
const AT = 'file:///srv/mill%20race';
const AGAIN = 'Correct that and start again';

test('an import that leads nowhere: what the bundler says of it', () => {
  const output = `Bundling asset Millrace/Jobs/Enqueue/Code/Stage...
✘ [ERROR] Could not resolve "not-there"

node:internal/modules/run_main:107
    triggerUncaughtException(

«FailedToBundleAsset» Failed to bundle asset Millrace/Jobs/Enqueue/Code/Stage: Error: Build failed with 1 error:
functions/jobs/processors.ts:1:18: ERROR: Could not resolve "not-there"
    at handlerFunction (${AT}/lib/handler-function.ts:34:14)
Relates to construct:
    <.> (aws-cdk-lib.App)`;
  expect(reasonOf(output, PROJECT)).toBe(
    `functions/jobs/processors.ts:1:18: ERROR: Could not resolve "not-there". ${AGAIN}.`,
  );
});

test('a setting out of range: the error and the way to it through the project', () => {
  const output = `${AT}/functions/queue/contract.ts:70
  if (!(value <= max)) throw new RangeError(\`\${setting} must lie from \${min} to \${max}\`);
                             ^

RangeError: timeoutSeconds must lie from 0.001 to 840, not 5000
    at within (${AT}/functions/queue/contract.ts:70:46)
    at defineJob (${AT}/functions/queue/contract.ts:59:3)
    at ${AT}/functions/jobs/contracts.ts:7:18
    at other (${AT}/node_modules/other/index.js:1:1)
    at ModuleJob.run (node:internal/modules/esm/module_job:561:25)

Node.js v24.21.0`;
  expect(reasonOf(output, PROJECT)).toBe(
    'RangeError: timeoutSeconds must lie from 0.001 to 840, not 5000 (functions/queue/contract.ts:70:46 < ' +
      `functions/queue/contract.ts:59:3 < functions/jobs/contracts.ts:7:18). ${AGAIN}; npx cdk synth shows all that it said.`,
  );
});

test('a slip of the pen: where it stands', () => {
  const output = `node:internal/modules/run_main:107
    triggerUncaughtException(
    ^

${AT}/functions/jobs/contracts.ts:23
export const x = {;
                  ^

SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Unexpected token \`;\`
    at parseTypeScript (node:internal/modules/typescript:72:36) {
  code: 'ERR_INVALID_TYPESCRIPT_SYNTAX'
}`;
  expect(reasonOf(output, PROJECT)).toContain(
    'SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Unexpected token `;` (functions/jobs/contracts.ts:23). Correct',
  );
});

test.each([
  [
    `Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'aws-cdk-lib' imported from ${PROJECT}/bin/app.ts`,
    'aws-cdk-lib',
  ],
  ["Error: Cannot find module 'constructs'\nRequire stack:", 'constructs'],
  ['Error: Bundling needs esbuild, which this project does not have: npm install --save-dev esbuild', 'esbuild'],
])('what the project lacks, and how to get it: %s', (output, name) => {
  expect(reasonOf(output, PROJECT)).toBe(
    `it needs ${name}, which is not installed here: npm install --save-dev ${name}`,
  );
});

test('what says nothing that is known comes back as it is, the last lines of it', () => {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  expect(reasonOf(lines.join('\n'), PROJECT)).toMatch(/^run npx cdk synth to see why:\nline 5\n.*line 19$/s);
});

test('a folder for the assembly that cannot be made is one sentence', async () => {
  await expect(synthesize(await projectOf(), '/dev/null/cdk.out')).rejects.toMatchObject({
    code: 'not_writable',
    message: expect.stringMatching(
      /^The folder \/dev\/null\/cdk\.out cannot be made anew \(ENOTDIR.*\): make it writable/,
    ),
  });
});

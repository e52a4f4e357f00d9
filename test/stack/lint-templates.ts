/**
 * `npm run lint:templates`: cfn-lint over the templates of all combinations of props, and SAM's own validation over the one
 * that `sam local` would read. Both are Python's: installed once into a folder that git ignores, and left out, loudly, where there
 * is no Python.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { synthesize } from '../lib/synthesize.ts';
import { pythonTool } from '../support/python-tool.ts';
import { COMBINATIONS, propsOf } from './combinations.ts';

/** It brings cfn-lint, of a version that it fits. */
const SAM = 'aws-sam-cli==1.170.0';

async function lint({ sam, cfnLint }: { sam: string; cfnLint: string }): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-templates-'));
  try {
    const files = templates(directory);
    await execa(cfnLint, ['--', ...files], { stdio: 'inherit' });
    await execa(sam, ['validate', '--lint', '--region', 'us-east-1', '--template', files[0] as string], {
      stdio: 'inherit',
      env: { SAM_CLI_TELEMETRY: '0' },
    });
    console.log(`${files.length} templates: cfn-lint has nothing to say; the default one: sam validate --lint neither`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function templates(directory: string): string[] {
  return [['default', {}] as const, ...COMBINATIONS].map(([name, row], at) => {
    const { template } = synthesize((stack) => (name === 'default' ? {} : propsOf(row as never, stack)));
    const file = join(directory, `${at} ${name.replace(/\W+/g, '-')}.template.json`);
    writeFileSync(file, JSON.stringify(template.toJSON()));
    return file;
  });
}

const sam = await pythonTool(SAM, 'sam').catch((error: Error) => {
  console.warn(`THE TEMPLATES WERE NOT LINTED: cfn-lint and SAM cannot be installed here: ${error.message}`);
});
if (sam) await lint({ sam, cfnLint: await pythonTool(SAM, 'cfn-lint') });

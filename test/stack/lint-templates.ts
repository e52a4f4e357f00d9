/**
 * `npm run lint:templates`: cfn-lint over the templates of all combinations of props, and SAM's own validation over the one
 * that `sam local` would read. Both are Python's: installed from PyPI into a folder of their own, and left out, loudly, where
 * there is no Python.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { synthesize } from '../lib/synthesize.ts';
import { COMBINATIONS, propsOf } from './combinations.ts';

/** It brings cfn-lint, of a version that it fits. */
const SAM = 'aws-sam-cli==1.170.0';
const home = fileURLToPath(new URL('../../node_modules/.cache/template-linters', import.meta.url));

async function installed(): Promise<string | undefined> {
  const bin = join(home, 'bin');
  const works = await execa(join(bin, 'sam'), ['--version'], { reject: false });
  if (works.exitCode === 0) return bin;
  const made = await execa('python3', ['-m', 'venv', '--clear', home], { reject: false });
  if (made.exitCode !== 0) return undefined;
  await execa(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', SAM]);
  return bin;
}

function templates(directory: string): string[] {
  return [['default', {}] as const, ...COMBINATIONS].map(([name, row], at) => {
    const { template } = synthesize((stack) => (name === 'default' ? {} : propsOf(row as never, stack)));
    const file = join(directory, `${at} ${name.replace(/\W+/g, '-')}.template.json`);
    writeFileSync(file, JSON.stringify(template.toJSON()));
    return file;
  });
}

const bin = await installed();
if (bin === undefined) {
  console.warn('THE TEMPLATES WERE NOT LINTED: cfn-lint and SAM need python3 with venv, and there is none.');
} else {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-templates-'));
  try {
    mkdirSync(directory, { recursive: true });
    const files = templates(directory);
    await execa(join(bin, 'cfn-lint'), ['--', ...files], {
      stdio: 'inherit',
    });
    await execa(join(bin, 'sam'), ['validate', '--lint', '--region', 'us-east-1', '--template', files[0] as string], {
      stdio: 'inherit',
      env: { SAM_CLI_TELEMETRY: '0' },
    });
    console.log(`${files.length} templates: cfn-lint has nothing to say; the default one: sam validate --lint neither`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

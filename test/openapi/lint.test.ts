import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Whatever opens a connection ends the process: the linter could ask for news or tell how it is used. */
const OFFLINE = `import net from 'node:net';
net.Socket.prototype.connect = function () { console.error('a connection was opened'); process.exit(99); };`;

test('redocly finds nothing to say of docs/openapi.json, and asks nobody', async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(OFFLINE)}`,
      'node_modules/@redocly/cli/bin/cli.js',
      'lint',
      '--format=summary',
    ],
    { cwd: root, env: { PATH: process.env.PATH, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  ).catch(({ code, stdout, stderr }) => expect.fail(`it ended with ${code}: ${stdout}${stderr}`));
  expect(`${stdout}${stderr}`).toMatch(/is valid/);
  expect(`${stdout}${stderr}`).not.toMatch(/warning/i);
});

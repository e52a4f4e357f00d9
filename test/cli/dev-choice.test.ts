import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hints } from '../../cli/dev/hints.ts';
import { contracts } from '../../cli/init/template/jobs/contracts.ts';
import type { Runtime } from '../../local/runtime.ts';
import { infoOf, projectOf } from '../local/project.ts';
import { expect, test } from '../support/fixtures.ts';
import { here } from './here.ts';
import { runCli, startCli } from './run-cli.ts';

const ARGS = ['dev', '--app', 'assembly', '--port', '0'];

test('what is synthesized already runs, and the last line of a terminal says how the queue stands', async ({
  databaseUrl,
}) => {
  const directory = await projectOf();
  const dev = startCli(ARGS, { cwd: directory, env: { DATABASE_URL: databaseUrl, NO_COLOR: '1' }, columns: 100 });
  await dev.sees(/0 pending · 0 processing · 0 completed · 0 dead · 0 jobs\/s · http:\/\/127\.0\.0\.1:\d+/);
  const { url, pid } = (await infoOf(directory)) as { url: string; pid: number };
  await fetch(`${url}/anything`);
  await dev.sees(/HTTP {4} 200 GET \/anything in \d+ ms/);
  process.kill(pid, 'SIGINT');
  expect(await dev.ended).toBe(0);
  // In the end the line that was drawn over again and again is erased, and the cursor was never hidden.
  expect(dev.stdout().split('pending').at(-1)).toContain('\x1b[2K\x1b[1A\x1b[2K\x1b[G');
  expect(dev.stdout()).not.toContain('\x1b[?25l');
});

test('of several queues one runs, which must be said', async ({ databaseUrl }) => {
  const directory = await projectOf();
  const queue = (path: string) => ({ [`/${path}`]: [{ type: 'millrace:queue', data: { kinds: ['mail.send'] } }] });
  const properties = { templateFile: 'Stack.template.json' };
  const metadata = { ...queue('Stack'), ...queue('Office/Jobs') };
  const artifacts = { Stack: { type: 'aws:cloudformation:stack', properties, metadata } };
  await writeFile(join(directory, 'assembly', 'manifest.json'), JSON.stringify({ artifacts }));
  const options = { cwd: directory, env: { DATABASE_URL: databaseUrl } };
  expect(await runCli(ARGS, options)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The app has more than one queue (Stack, Office/Jobs), and one at a time runs here: choose it with --stack Stack.\n',
  });
  const unknown = await runCli([...ARGS, '--stack', 'Shop'], options);
  expect(unknown.stderr).toBe('--stack Shop fits no queue of the app: choose one of Stack, Office/Jobs.\n');
});

test.each([
  [['--contracts', 'jobs/contracts.ts'], '--contracts and --processors go together'],
  [['--contracts', 'a.ts', '--processors', 'b.ts', '--app', 'x'], 'cannot be used with option'],
  [['--port', '70000'], 'It takes a whole number from 0 to 65535'],
  [['--tick-seconds', '0'], 'It takes seconds from 0.2 to 86400'],
])('dev %j is no command line', async (args, sentence) => {
  const { code, stderr } = await here('dev', ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
});

test('what a new project is told to try is a payload that its sample takes', () => {
  const runtime = {
    url: 'http://127.0.0.1:3000',
    hasApi: true,
    kinds: ['another', 'welcome.send'],
  } as unknown as Runtime;
  const settings = { auth: false, command: 'npx millrace' } as Parameters<typeof hints>[1];
  const [curl, enqueue] = hints(runtime, settings);
  const payload = /enqueue welcome\.send '(.*)'$/.exec(enqueue ?? '')?.[1] ?? '';
  expect(contracts['welcome.send'].payload.parse(JSON.parse(payload))).toMatchObject({ name: 'friend' });
  expect(curl).toContain(`{"kind":"welcome.send","payload":${payload}}`);
});

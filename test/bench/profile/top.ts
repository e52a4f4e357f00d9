/**
 * `node test/bench/profile/top.ts FOLDER [LINES]`: where worker processes spent their time, from the CPU profiles that
 * `npm run bench -- --only ROW --profile FOLDER` has written: by function and by file or package, added up over all processes.
 * A profile that is to be looked at as a flame graph is opened in the developer tools of a browser.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { functionName, moduleName, type SelfTime, selfTimes } from './self-times.ts';

const [folder, lines = '25'] = process.argv.slice(2);
if (folder === undefined) throw new TypeError('which folder has the profiles? node test/bench/profile/top.ts FOLDER');
const files = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'));
const profiles = await Promise.all(
  files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8')) as Profiler.Profile),
);
for (const name of [functionName, moduleName]) print(selfTimes(profiles, name));

function print(times: readonly SelfTime[]): void {
  const busy = times.filter(({ what }) => what !== '(idle)');
  const total = busy.reduce((sum, { ms }) => sum + ms, 0);
  console.log(`${Math.round(total)} ms busy in ${profiles.length} processes, of which`);
  for (const { what, ms } of busy.slice(0, Number(lines))) {
    console.log(`${((100 * ms) / total).toFixed(1).padStart(5)} % ${ms.toFixed(0).padStart(7)} ms  ${what}`);
  }
}

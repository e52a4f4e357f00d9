/** `npm run simulate -- --trace poisson:1`: what a load costs, and how quick it is, on a virtual clock. See docs/simulator.md. */
import { type Arguments, readArguments, USAGE } from './simulate/arguments.ts';
import { reportOf } from './simulate/report.ts';
import { resultOf } from './simulate/result.ts';
import { tableOf, writeTable } from './simulate/table.ts';

try {
  await perform(readArguments(process.argv.slice(2)));
} catch (error) {
  console.error(process.env.LOG_LEVEL === 'debug' ? error : (error as Error).message);
  process.exitCode = 1;
}

async function perform({ does, json, write, options }: Arguments): Promise<void> {
  if (does === 'help') return console.log(USAGE);
  if (does === 'table') return write ? writeTable() : console.log(tableOf());
  if (does === 'check') {
    const { check } = await import('./simulate/check.ts');
    process.exitCode = (await check({ json })) ? 0 : 1;
    return;
  }
  const result = resultOf(options);
  console.log(json ? JSON.stringify(result, null, 2) : reportOf(result));
}

#!/usr/bin/env node
/** `npx millrace <command>`: each is a module of cli/. */
import { endQuietly } from '../cli/ending.ts';
import { main } from '../cli/main.ts';

endQuietly();
process.exitCode = await main(process.argv.slice(2));

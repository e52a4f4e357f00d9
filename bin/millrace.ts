#!/usr/bin/env node
/** `npx millrace <command>`: what whoever runs a queue does by hand. Each command is a module beside this one. */
const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  migrate: () => import('./migrate.ts'),
  token: () => import('./token.ts'),
};

const [name = ''] = process.argv.splice(2, 1);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) {
  console.error(`usage: millrace token create | list | revoke …, or millrace migrate${name && `; not "${name}"`}`);
  process.exitCode = 1;
} else {
  await command();
}

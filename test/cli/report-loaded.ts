import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** `node --import` this: writes into the file of LOADED what the process has loaded, as it ends. */
const loaded: string[] = [];
registerHooks({
  load: (url, context, next) => {
    loaded.push(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env.LOADED ?? '', loaded.join('\n')));

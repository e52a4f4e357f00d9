import { readFileSync } from 'node:fs';

const LOOK_MS = 500;
/** Those of npm's scripts, as npm names them, that start something which must not stay behind. */
const SCRIPTS = ['start', 'sam', 'dev', 'npx'];

/**
 * Calls back once when npm or the shell between it and this process is gone: npm passes a SIGTERM on to the shell alone,
 * and whoever gets a SIGKILL passes nothing on. Watches nothing unless npm started this process. Without /proc only the
 * parent is known.
 */
export function whenOrphaned(env: NodeJS.ProcessEnv, callback: () => void): void {
  if (!SCRIPTS.includes(env.npm_lifecycle_event ?? '')) return;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    callback();
  }, LOOK_MS);
  timer.unref();
}

/** The parent and, behind a shell, the one above. Some shells give their place to the command: then npm is the parent. */
function ancestors(): string {
  return `${process.ppid} ${parentOfShell(process.ppid)}`;
}

function parentOfShell(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const [, name = '', rest = ''] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    // Who is above npm may go: `nohup npm start` outlives its terminal.
    return name.endsWith('sh') ? rest.split(' ')[1] : undefined;
  } catch {
    return undefined;
  }
}

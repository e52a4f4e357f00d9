import type { Change } from './plan.ts';
import type { Project } from './project.ts';

/** What is made anew at each machine. */
const LINES = ['node_modules/', 'cdk.out/', '.millrace/'];

/** The project's .gitignore with the lines that it lacks; undefined if it has them. */
export function gitignore(project: Project): Change | undefined {
  const text = project.text('.gitignore') ?? '';
  const bare = (line: string) => line.trim().replace(/^\/|\/$/g, '');
  const has = new Set(text.split('\n').map(bare));
  const missing = LINES.filter((line) => !has.has(bare(line)));
  if (missing.length === 0) return undefined;
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return { path: '.gitignore', text: `${before}${missing.join('\n')}\n`, what: missing.join(' ') };
}

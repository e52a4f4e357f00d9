/**
 * Runs the embedded Postgres in a process of its own, so that a test can kill it: options as JSON in argv, one JSON line
 * when it runs or why it does not, SIGTERM stops.
 */
import { PostgresStartError, startPostgres } from '../../local/postgres.ts';

const notices: string[] = [];
try {
  const server = await startPostgres({
    ...JSON.parse(process.argv[2] as string),
    notice: (sentence) => notices.push(sentence),
  });
  process.on('SIGTERM', () => void server.stop().then(() => process.exit(0)));
  setInterval(() => {}, 60_000);
  console.log(JSON.stringify({ url: server.url, pid: server.pid, notices }));
} catch (error) {
  const { code, message } = error as PostgresStartError;
  console.log(JSON.stringify({ code: error instanceof PostgresStartError ? code : 'not typed', message }));
  process.exitCode = 1;
}

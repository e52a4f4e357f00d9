import { request } from 'node:http';
import type { TestServer } from './server.ts';

/** A daemon that is there answers in milliseconds; nobody should wait for one that is not. */
const PING_MS = 1000;

/** undefined: no Docker daemon answers, or it cannot get the image. */
export async function startContainer(
  major: number,
  settings: Readonly<Record<string, string>>,
): Promise<TestServer | undefined> {
  if (!(await daemonAnswers())) return undefined;
  try {
    // Loads for half a second, which most runs need not pay.
    const { GenericContainer, Wait } = await import('testcontainers');
    const container = await new GenericContainer(`postgres:${major}`)
      .withEnvironment({ POSTGRES_PASSWORD: 'millrace' })
      .withCommand(Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]))
      .withExposedPorts(5432)
      // The image starts the server twice, the first time for its own set-up.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
      .withStartupTimeout(60_000)
      .start();
    const url = `postgres://postgres:millrace@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return { url, lasting: false, stop: async () => void (await container.stop()) };
  } catch (error) {
    console.warn(
      `Docker answers, but postgres:${major} does not start (${(error as Error).message}): embedded Postgres instead.`,
    );
    return undefined;
  }
}

async function daemonAnswers(): Promise<boolean> {
  const host = new URL(process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock');
  // TLS and SSH daemons are rare, and somebody who has one can set DATABASE_URL.
  const target =
    host.protocol === 'unix:' ? { socketPath: host.pathname } : { host: host.hostname, port: host.port || 2375 };
  return new Promise((resolve) => {
    const ping = request({ ...target, path: '/_ping', timeout: PING_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    ping.on('timeout', () => ping.destroy());
    ping.on('error', () => resolve(false));
    ping.end();
  });
}

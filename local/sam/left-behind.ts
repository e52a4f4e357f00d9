import { command } from './command.ts';

/** Name of the network that compose.yaml makes, in which SAM starts the functions' containers. */
export const NETWORK = 'millrace';
/** SAM's own, of each container that it starts. */
const LABEL = 'sam.cli.container.type=lambda';

/** Removes the functions' containers that a SAM has left which was killed: they would go on, and hold the network. */
export async function removeLeftBehind(cwd: string): Promise<void> {
  const filters = [`network=${NETWORK}`, `label=${LABEL}`].flatMap((filter) => ['--filter', filter]);
  const { output } = await command('docker', ['ps', '--quiet', ...filters], { cwd }).ended;
  const ids = output.split('\n').filter((line) => /^[0-9a-f]{12,64}$/.test(line));
  if (ids.length > 0) await command('docker', ['rm', '--force', ...ids], { cwd }).ended;
}

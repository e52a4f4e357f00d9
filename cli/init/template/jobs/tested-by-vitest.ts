import { runProcessor } from 'millrace/testing';
import { expect, test } from 'vitest';
import { contracts } from './contracts.js';
import { processors } from './processors.js';

// One attempt as a worker makes it, with no database. More in node_modules/millrace/docs/testing.md.
test('whoever gives no name is welcome too', async () => {
  const run = await runProcessor(contracts, processors, 'welcome.send', { email: 'ada@example.org' });
  expect(run.verdict).toBe('completed');
  expect(run.result).toEqual({ to: 'ada@example.org', subject: 'Welcome, friend!' });
});

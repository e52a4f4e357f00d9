import { expect, test } from 'vitest';
import * as z from 'zod';
import { PayloadError, parsePayload } from '../../functions/queue/payload.ts';

const schema = z.object({ to: z.email(), lines: z.array(z.object({ amount: z.number().transform((n) => n * 2) })) });

test('the processor gets what the contract makes of the payload', () => {
  expect(parsePayload(schema, { to: 'a@b.example', lines: [{ amount: 2 }] })).toEqual({
    to: 'a@b.example',
    lines: [{ amount: 4 }],
  });
});

test('a misfit names each field', () => {
  expect(() => parsePayload(schema, { to: 'x', lines: [{ amount: 'y' }] })).toThrow(PayloadError);
  expect(() => parsePayload(schema, { to: 'x', lines: [{ amount: 'y' }] })).toThrow(/\/to: .*; \/lines\/0\/amount: /);
  expect(() => parsePayload(schema, null)).toThrow(/payload: /);
});

test('a contract may have asynchronous parts', async () => {
  const slow = z.string().refine(async (text) => text === 'good');
  await expect(parsePayload(slow, 'good')).resolves.toBe('good');
  await expect(parsePayload(slow, 'bad')).rejects.toThrow(PayloadError);
});

test('a refinement that throws is its own error', () => {
  const broken = z.string().refine(() => {
    throw new Error('refine broke');
  });
  expect(() => parsePayload(broken, 'x')).toThrow('refine broke');
});

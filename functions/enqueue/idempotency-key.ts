import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';

/**
 * The header `Idempotency-Key`. Its specification has it in quotes, most clients send it without.
 * @throws ProblemError for more than ASCII: headers have no encoding, so it would be another key than the same in a body
 */
export function idempotencyKeyOf({ headers }: HttpEvent): string | undefined {
  const key = headers['idempotency-key']?.trim();
  if (key !== undefined && /[^ -~]/.test(key)) {
    const detail =
      'holds more than printable ASCII, which headers cannot carry: send it as idempotency_key in the body';
    throw new ProblemError('invalid-job', 'The header Idempotency-Key cannot be used.', {
      flaws: [{ pointer: '/idempotency_key', detail }],
    });
  }
  return key !== undefined && /^".*"$/.test(key) ? key.slice(1, -1) : key;
}

/**
 * The request with the header's key in the place of its `idempotency_key`.
 * @throws ProblemError if it has one itself that is another
 */
export function keyedBy(key: string | undefined, request: unknown): unknown {
  if (key === undefined || typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  const { idempotency_key = key } = request as { idempotency_key?: unknown };
  if (idempotency_key !== key) {
    const detail = 'differs from the header Idempotency-Key: send one of the two';
    throw new ProblemError('invalid-job', 'The body and the header name different keys.', {
      flaws: [{ pointer: '/idempotency_key', detail }],
    });
  }
  return { ...request, idempotency_key };
}

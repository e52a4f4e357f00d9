import { deadJob, finishedJob, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { describe, expect, expectProblem, test } from './api.ts';

describe('POST /jobs/{id}/cancel', () => {
  test('ends a pending job', async ({ call, db }) => {
    const { id } = await pendingJob(db);
    const answer = await call('POST', `/jobs/${id}/cancel`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, status: 'cancelled' });
    expect(await statusOf(db, id)).toBe('cancelled');
  });

  test('asks a running job to stop: 202', async ({ call, db }) => {
    const { id } = await processingJob(db);
    const answer = await call('POST', `/jobs/${id}/cancel`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ status: 'processing', cancel_requested_at: expect.any(String) });
  });

  test('can be repeated', async ({ call, db }) => {
    const { id } = await pendingJob(db);
    await call('POST', `/jobs/${id}/cancel`);
    expect((await call('POST', `/jobs/${id}/cancel`)).status).toBe(200);
  });

  test('comes too late for a job that ended: 409 that says where it is', async ({ call, db }) => {
    for (const { id } of [await finishedJob(db), await deadJob(db)]) {
      const status = await statusOf(db, id);
      const answer = await call('POST', `/jobs/${id}/cancel`);
      expectProblem(answer, 409, 'wrong-state');
      expect(answer.body.job_status).toBe(status);
      expect(answer.body.detail).toContain(`this one is ${status}`);
      expect(await statusOf(db, id)).toBe(status);
    }
  });
});

describe('POST /jobs/{id}/redrive', () => {
  test('makes a dead job pending, with its errors and fresh attempts', async ({ call, db }) => {
    const { id } = await deadJob(db);
    const answer = await call('POST', `/jobs/${id}/redrive`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'pending', attempts: 0, errors: [{ message: 'boom' }] });
    expect(await statusOf(db, id)).toBe('pending');
  });

  test('leaves every other state alone: 409', async ({ call, db }) => {
    for (const { id } of [await pendingJob(db), await processingJob(db), await finishedJob(db)]) {
      expectProblem(await call('POST', `/jobs/${id}/redrive`), 409, 'wrong-state');
    }
  });
});

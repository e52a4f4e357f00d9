import { batchCall, type Enqueued, type EnqueuedJob, enqueueCall, type JobOptions, type NewJob } from './enqueue.ts';
import { getCall, readJob } from './get.ts';
import type { Job, JobWith, Part } from './job.ts';
import type { KindOf, Kinds, PayloadOf } from './kinds.ts';
import { type Counts, countsCall, type Filters, Listing, type ListOptions } from './list.ts';
import { metricsCall } from './metrics.ts';
import { type CallOptions, type ClientOptions, type Settings, settingsOf } from './options.ts';
import { type Paused, pauseCall, type Target } from './pause.ts';
import { type ReadinessWith, type ReadyPart, readyCall } from './ready.ts';
import { type RedriveFilter, type Redriven, type RedriveStep, redriveSteps, total } from './redrive.ts';
import { type Call, pathOf } from './request.ts';
import { fireCall, type Schedule, schedulesCall } from './schedules.ts';
import { send } from './send.ts';
import { type Ended, type WaitOptions, waitFor } from './wait-for.ts';

/**
 * Millrace over HTTP: `new Client<typeof contracts>({ url, token })`. Every method rejects with an ApiError, or with the
 * reason of its signal; what may pass is tried again, and no try does the work of another twice.
 */
export class Client<C extends Kinds = Kinds> {
  readonly #settings: Settings;

  /** @throws TypeError or RangeError for an option that cannot be used */
  constructor(options: ClientOptions) {
    this.#settings = settingsOf(options);
  }

  /** Puts a job in. Once this has resolved, the job is stored. */
  async enqueue<Kind extends KindOf<C>>(
    kind: Kind,
    payload: PayloadOf<C, Kind>,
    options: JobOptions & CallOptions = {},
  ): Promise<EnqueuedJob> {
    const { signal, timeoutSeconds, requestId, traceparent, ...job } = options;
    return this.#send(enqueueCall(kind, payload, job), { signal, timeoutSeconds, requestId, traceparent });
  }

  /** Puts up to 1,000 jobs in, all or none, and answers in their order. @throws RangeError for more */
  async enqueueMany(jobs: readonly NewJob<C>[], options?: CallOptions): Promise<Enqueued[]> {
    return jobs.length === 0 ? [] : this.#send(batchCall(jobs), options);
  }

  /** A job as it is now; payload and result only if `include` names them. */
  async get<P extends Part = never>(
    id: string,
    { include, ...options }: CallOptions & { readonly include?: readonly P[] | undefined } = {},
  ): Promise<JobWith<P>> {
    return this.#send(getCall(id, include), options);
  }

  /** Resolves the job once it has ended: completed, dead or cancelled. */
  async waitFor<P extends Part = 'result'>(id: string, options: WaitOptions<P> = {}): Promise<Ended<P>> {
    return waitFor((call, callOptions) => this.#send(call, callOptions), id, options);
  }

  /**
   * `for await (const job of client.list({ status: 'dead' }))`, newest first; `.pages()` gives page by page. `timeoutSeconds`
   * is for each page.
   */
  list(filters: ListOptions<KindOf<C>> = {}, options?: CallOptions): Listing {
    return new Listing((call) => this.#send(call, options), filters);
  }

  /** How many jobs fit, for each status: exact below `countsLimit`. */
  async counts(filters: Filters<KindOf<C>> = {}, options?: CallOptions): Promise<Counts> {
    return this.#send(countsCall(filters), options);
  }

  /**
   * Cancels a pending job at once, asks one that is processing to stop (`cancelRequestedAt`). Refused (`wrong-state`) once it
   * is completed or dead.
   */
  async cancel(id: string, options?: CallOptions): Promise<Job> {
    return this.#send({ method: 'POST', path: pathOf`/jobs/${id}/cancel`, read: readJob<Job> }, options);
  }

  /** Sends a dead job round again, with all of its attempts. */
  async redrive(id: string, options?: CallOptions): Promise<Job> {
    return this.#send({ method: 'POST', path: pathOf`/jobs/${id}/redrive`, read: readJob<Job> }, options);
  }

  /** The same for all dead jobs that match, step by step until there are no more. `timeoutSeconds` is for each step. */
  async redriveMany(filter: RedriveFilter<KindOf<C>>, options?: CallOptions): Promise<Redriven> {
    return total(this.redriveSteps(filter, options));
  }

  /** The steps of that, for `for await`: each done when it comes. Its `nextCursor` is where a later call can go on. */
  redriveSteps(filter: RedriveFilter<KindOf<C>>, options?: CallOptions): AsyncGenerator<RedriveStep, void, undefined> {
    return redriveSteps((call) => this.#send(call, options), filter);
  }

  /** Removes a finished or dead job with its payload, result and errors, for good. */
  async erase(id: string, options?: CallOptions): Promise<void> {
    return this.#send({ method: 'DELETE', path: pathOf`/jobs/${id}`, read: () => {} }, options);
  }

  /**
   * `pause({ kind })`, `pause({ queue })`: none of its jobs is started from the next claim on. `pause({ schedule })`: its fire times
   * pass without a job.
   */
  async pause(target: Target<KindOf<C>>, options?: CallOptions): Promise<Paused> {
    return this.#send(pauseCall(target, 'pause'), options);
  }

  /** Its jobs are started again, from the next claim on; of a schedule, made again from its next fire time on. */
  async resume(target: Target<KindOf<C>>, options?: CallOptions): Promise<Paused> {
    return this.#send(pauseCall(target, 'resume'), options);
  }

  /** The recurring jobs that workers have declared, by name. Not for a token with the role `producer`. */
  async schedules(options?: CallOptions): Promise<Schedule[]> {
    return this.#send(schedulesCall(), options);
  }

  /**
   * Makes a job of a schedule now, also while that is paused. Refused (`schedule-overlap`, with its `job_id`) while another of its
   * jobs is live, unless it lets them overlap.
   */
  async fire(schedule: string, options?: CallOptions): Promise<Job> {
    return this.#send(fireCall(schedule), options);
  }

  /**
   * How the queue is, by one try; with `include: ['database']` also how its database is.
   * @throws ApiError if database or schema keep it from working
   */
  async ready<P extends ReadyPart = never>({
    include,
    ...options
  }: CallOptions & { readonly include?: readonly P[] | undefined } = {}): Promise<ReadinessWith<P>> {
    return this.#send(readyCall(include), options);
  }

  /** Jobs by kind and status, ages and counters, as text for Prometheus. Not for a token with the role `producer`. */
  async metrics(options?: CallOptions): Promise<string> {
    return this.#send(metricsCall(), options);
  }

  #send<T>(call: Call<T>, options?: CallOptions): Promise<T> {
    return send(this.#settings, call, options);
  }
}

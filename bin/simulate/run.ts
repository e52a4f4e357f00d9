import { reconnectDelay } from '../../functions/queue/backoff.ts';
import { DRAIN_MARGIN_SECONDS, kindsThatFit } from '../../functions/queue/fits.ts';
import { JobSeconds } from '../../functions/queue/job-seconds.ts';
import { nextPhase, type Phase, type Reason } from '../../functions/queue/phase.ts';
import { lingerSeconds } from '../../functions/queue/pickup.ts';
import { RENEW_MS } from '../../functions/queue/presence.ts';
import { decideStart, rowsThatMatter, type Start, type StartDecision } from '../../functions/queue/start.ts';
import { CLAIM_MAX_ROWS, POLL_MS } from '../../functions/queue/supply.ts';
import { WATCH_MS } from '../../functions/queue/watcher.ts';
import { Ended, FAILED, STOPPED, SUCCEEDED } from './ended.ts';
import type { Actor } from './events.ts';
import type { Sandbox } from './lambda.ts';
import { Places } from './places.ts';
import { logNormal, untilNext } from './random.ts';
import { type Waiting, WIRE, Wire } from './wire.ts';
import type { World } from './world.ts';

/** What an event of a run says, if not which of its places has become free. */
const WHAT = { connect: -1, ...WIRE, drain: -5, die: -6 } as const;

const KIND = 'job';
/** As functions/queue/broker.ts. */
const LONGEST_REST_SECONDS = 1;

export interface RunOptions {
  readonly start: Start;
  /** Names it among all runs. */
  readonly token: number;
  readonly sandbox: Sandbox;
  readonly startedAt: number;
  /** Told how it ended. */
  ended(how: StartDecision | Reason | 'died' | 'refused'): void;
}

/**
 * A run of the worker, statement by statement as functions/queue/broker.ts sends them: each round settles, watches, renews and
 * claims. (The engine settles beside its rounds: docs/decisions/0024 says what that makes here.) What it decides, the engine's own
 * functions decide.
 */
export class Run implements Actor {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #wire: Wire;
  readonly #places: Places;
  readonly #ended: Ended;
  readonly #kinds: ReadonlyMap<string, { readonly timeoutSeconds: number }>;
  readonly #endsAt: number;
  readonly #lingerMs: number;
  #over = false;
  #connected = false;
  #failures = 0;
  #wanted = 0;
  #restUntil = Number.NEGATIVE_INFINITY;
  #empty = false;
  #present = false;
  #relieved = false;
  #seenToken: number | undefined;
  #phase: Phase = 'claim';
  #reason: Reason | undefined;
  #busyAt: number;
  #renewedAt: number;
  #watchedAt = Number.NEGATIVE_INFINITY;
  readonly #jobSeconds = new JobSeconds();

  constructor(world: World, options: RunOptions) {
    const { profile, events, random } = world;
    const { startedAt, start } = options;
    this.#world = world;
    this.#options = options;
    this.#wire = new Wire(world, this, startedAt);
    this.#places = new Places(start.concurrency);
    this.#ended = new Ended(world);
    this.#kinds = new Map([[KIND, { timeoutSeconds: profile['job-timeout'] }]]);
    this.#endsAt = startedAt + profile.timeout;
    this.#lingerMs = 1000 * lingerSeconds(profile.pickup, start);
    this.#busyAt = this.#renewedAt = startedAt;
    events.schedule(startedAt + this.#wire.cpu('start-cpu-ms') + 3 * this.#wire.roundTrip, this, WHAT.connect);
    events.schedule(this.#endsAt - DRAIN_MARGIN_SECONDS, this, WHAT.drain);
    events.schedule(Math.min(this.#endsAt, startedAt + untilNext(profile.deaths, random)), this, WHAT.die);
  }

  on(what: number, now: number): void {
    if (this.#over) return;
    if (what >= 0) this.#jobEnded(what, now);
    else if (what === WHAT.arrived) this.#wire.arrived(now);
    else if (what === WHAT.answered) this.#took(this.#wire.answered(now), now);
    else if (what === WHAT.timer) this.#rested(now);
    else if (what === WHAT.connect) this.#connect(now);
    else if (what === WHAT.drain) this.#drain(now);
    else this.#die(now);
  }

  #connect(now: number): void {
    const { database, events, random } = this.#world;
    this.#wire.freeAt = now;
    if (!database.connect()) {
      events.schedule(now + reconnectDelay(++this.#failures, random) / 1000, this, WHAT.connect);
      return;
    }
    this.#connected = true;
    this.#wire.send('look');
  }

  #rested(now: number): void {
    if (this.#wire.isAwake(now)) this.#round(now);
  }

  #took(waiting: Waiting, now: number): void {
    const { slots } = this.#world;
    const { start, token } = this.#options;
    switch (waiting) {
      case 'look':
        this.#decide(now);
        break;
      case 'take':
        this.#take(now);
        break;
      case 'marks':
        this.#round(now);
        break;
      case 'watch':
        this.#watchedAt = now;
        this.#next(now, 'presence');
        break;
      case 'clear':
        slots.clear(start.slot, token, this.#jobSeconds.take());
        this.#present = false;
        if (this.#phase === 'leave') this.#askAgain();
        this.#next(now, 'claim');
        break;
      case 'renew':
        this.#present = slots.renew(start.slot, token, this.#jobSeconds.take(), now);
        this.#relieved = !this.#present;
        this.#renewedAt = now;
        this.#next(now, 'claim');
        break;
      case 'claim':
        this.#claimed(now);
        break;
      case 'publish':
        this.#end(now, this.#reason as Reason);
        break;
      default:
        this.#ended.settled(waiting, now);
        this.#next(now, 'settle');
        break;
    }
  }

  #decide(now: number): void {
    const { slots, jobs } = this.#world;
    const { start } = this.#options;
    const holder = slots.holder(start.slot, now);
    this.#seenToken = slots.tokenOf(start.slot);
    const jobSeconds = slots.jobSeconds;
    const rows = rowsThatMatter(start, jobSeconds);
    const decision = decideStart(start, {
      holder: holder && { ageSeconds: now - holder.startedAt },
      due: Math.min(rows, jobs.due(now)),
      inFlight: Math.min(rows, jobs.processing),
      jobSeconds,
    });
    if (decision === 'take') this.#wire.send('take');
    else this.#end(now, decision);
  }

  /** What it saw may have changed since: then somebody else was faster. */
  #take(now: number): void {
    const { slots } = this.#world;
    const { start, token } = this.#options;
    if (slots.tokenOf(start.slot) !== this.#seenToken) {
      this.#end(now, 'held');
      return;
    }
    slots.take(start.slot, token, now);
    this.#present = true;
    this.#wire.send('marks');
  }

  /** Its presence is cleared: what came until then, nobody else looks for. */
  #askAgain(): void {
    this.#restUntil = Number.NEGATIVE_INFINITY;
    this.#empty = false;
  }

  #round(now: number): void {
    const remainingMs = (this.#endsAt - now) * 1000;
    const busy = this.#busy;
    if (busy) this.#busyAt = now;
    this.#phase =
      this.#reason ??
      nextPhase({
        drainRequested: false,
        refused: false,
        remainingMs,
        relieved: this.#relieved,
        fitting: kindsThatFit(this.#kinds, remainingMs).size,
        foundNothing: this.#empty && !busy,
        idleMs: (now - this.#busyAt) * 1000,
        lingerMs: this.#lingerMs,
        present: this.#present,
      });
    if (this.#phase !== 'claim' && this.#phase !== 'leave') this.#reason = this.#phase;
    if (this.#reason !== undefined && !busy) this.#leave(now);
    else this.#next(now, 'settle');
  }

  /** Sends the next statement of the round, or rests if it has none. */
  #next(now: number, from: 'settle' | 'presence' | 'claim'): void {
    const verb = from === 'settle' ? this.#ended.verb : undefined;
    if (verb) this.#wire.send(verb, this.#ended.send(verb));
    else if (from === 'settle' && this.#watchRest(now) <= 0) this.#wire.send('watch');
    else if (from !== 'claim' && this.#leaves) this.#wire.send('clear');
    else if (from !== 'claim' && this.#renewRest(now) <= 0) this.#wire.send('renew');
    else if (this.#mayClaim && this.#restUntil <= this.#wire.freeAt) this.#wire.send('claim', this.#claimable(now));
    else if (this.#ended.size > 0) this.#wire.wake(now);
    else this.#rest(now);
  }

  #rest(now: number): void {
    const poll = this.#mayClaim ? this.#restUntil - now : Infinity;
    this.#wire.wake(
      now + Math.max(0, Math.min(poll, this.#renewRest(now), this.#watchRest(now), LONGEST_REST_SECONDS)),
    );
  }

  get #leaves(): boolean {
    return this.#phase !== 'claim' && this.#present;
  }

  get #left(): number {
    return this.#options.start.concurrency - this.#places.taken - this.#ended.size;
  }

  get #mayClaim(): boolean {
    return this.#reason === undefined && this.#left > 0;
  }

  /** Asks for as many as it has places for. Resolves how many it will be given, as things stand. */
  #claimable(now: number): number {
    this.#wanted = Math.min(this.#left, CLAIM_MAX_ROWS);
    return Math.min(this.#wanted, this.#world.jobs.due(now));
  }

  #claimed(now: number): void {
    const { jobs } = this.#world;
    const count = Math.min(this.#wanted, jobs.due(now));
    this.#empty = count === 0;
    const tickAt = this.#wire.freeAt;
    for (let n = 0; n < count; n++) this.#startJob(jobs.claim(now), tickAt);
    if (this.#empty) this.#restUntil = this.#wire.freeAt + POLL_MS / 1000;
    this.#round(now);
  }

  /** All that a claim brings starts in one turn of the event loop, so that what takes the same time ends together. */
  #startJob(job: number, tickAt: number): void {
    const { jobs, events, profile, random } = this.#world;
    this.#wire.freeAt += this.#wire.cpu('job-cpu-ms');
    jobs.started(job, this.#wire.freeAt);
    const seconds = (profile['job-ms'] / 1000) * logNormal(profile['job-spread'], random);
    const fails = random() < profile.fail || seconds > profile['job-timeout'];
    const place = this.#places.take({ job, startedAt: this.#wire.freeAt, fails });
    events.schedule(Math.max(this.#wire.freeAt, tickAt + Math.min(seconds, profile['job-timeout'])), this, place);
  }

  #jobEnded(place: number, now: number): void {
    const attempt = this.#places.free(place);
    if (attempt === undefined) return;
    this.#ended.add(attempt.job, attempt.fails ? FAILED : SUCCEEDED);
    this.#jobSeconds.add(1000 * this.#world.jobs.heldFor(attempt.job, now));
    // What ends at the same moment is settled together.
    if (!this.#wire.waits) this.#wire.wake(now);
  }

  #drain(now: number): void {
    for (const { job } of this.#places.empty()) this.#ended.add(job, STOPPED);
    if (this.#connected && !this.#wire.waits) this.#wire.wake(now);
  }

  /** Nothing is settled from here on: leases run out. */
  #die(now: number): void {
    const { jobs, profile } = this.#world;
    for (const job of [...this.#places.empty().map((attempt) => attempt.job), ...this.#ended.take()]) {
      jobs.abandon(job, kindsThatFit(this.#kinds, Infinity).get(KIND) ?? profile['job-timeout']);
    }
    this.#end(now, this.#connected ? 'died' : 'refused', true);
  }

  #leave(now: number): void {
    const { slots } = this.#world;
    const { start, token } = this.#options;
    if (this.#present) {
      this.#world.database.execute('presence', now);
      slots.clear(start.slot, token, this.#jobSeconds.take());
      this.#present = false;
    }
    this.#wire.send('publish');
  }

  #end(now: number, how: Parameters<RunOptions['ended']>[0], died = false): void {
    this.#over = true;
    const { database, workers } = this.#world;
    const { sandbox, ended } = this.#options;
    if (this.#connected) database.disconnect();
    workers.ended(sandbox, now, died);
    ended(how);
  }

  /** As Presence.restMs. */
  #renewRest(now: number): number {
    if (this.#reason !== undefined || this.#relieved || !(this.#present || this.#busy)) return Infinity;
    return this.#present ? this.#renewedAt + RENEW_MS / 1000 - now : 0;
  }

  get #busy(): boolean {
    return this.#places.taken > 0 || this.#ended.size > 0;
  }

  #watchRest(now: number): number {
    return Math.max(this.#places.oldestSince, this.#watchedAt) + WATCH_MS / 1000 - now;
  }
}

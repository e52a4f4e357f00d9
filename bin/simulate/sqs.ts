import { seeded } from '../../local/demo/random.ts';
import { type Actor, Events } from './events.ts';
import { Histogram } from './histogram.ts';
import { Lambda, type Sandbox } from './lambda.ts';
import type { Profile } from './profile.ts';
import { logNormal } from './random.ts';
import { arrivalsOf, type SimulationOptions } from './simulate.ts';

/**
 * How an event source mapping scales, from AWS's "Configuring scaling behavior for SQS event source mappings": five batches at a
 * time, up to 300 more a minute while messages are there, 1,000 at most.
 */
const LANES = { least: 5, moreAMinute: 300, most: 1000 };
/** Seconds that a poll waits for messages. */
const LONG_POLL_SECONDS = 20;
/** A message comes back when nobody has deleted it for six times the function's timeout: what AWS recommends. */
const VISIBILITY_TIMEOUTS = 6;
/** Seconds of an invocation beside its jobs. */
const OVERHEAD_SECONDS = 0.002;

export interface SqsSimulated {
  readonly pickup: Histogram;
  readonly lambda: Lambda;
  /** Of SQS: send, receive, delete. */
  readonly requests: number;
  readonly completed: number;
}

/** The same jobs through a standard queue with a function behind it, which works on all records of a batch at once. */
export function simulateSqs(options: SimulationOptions): SqsSimulated {
  const { profile, seconds } = options;
  const events = new Events();
  const mapping = new Mapping(events, profile, seeded(options.seed));
  const arrival = arrivalsOf(options);
  let sent = arrival();
  for (;;) {
    const now = Math.min(sent, events.next);
    if (now > seconds) break;
    if (sent === now) {
      mapping.send(now);
      sent = arrival();
    } else {
      events.advance();
    }
  }
  mapping.lambda.close(seconds);
  // Each of the pollers of a quiet queue asks on; those that bring something are counted with what they bring.
  const idle = (profile['sqs-pollers'] * seconds) / LONG_POLL_SECONDS;
  return { ...mapping.measured, requests: mapping.measured.requests + Math.round(idle) };
}

const RETURNED = -1;
const WINDOW = -2;

class Mapping implements Actor {
  readonly lambda: Lambda;
  readonly #events: Events;
  readonly #profile: Profile;
  readonly #random: () => number;
  readonly #pickup = new Histogram();
  /** When each that waits was sent; those that failed come again, and are not measured twice. */
  #waiting: number[] = [];
  #first = 0;
  readonly #batches = new Map<
    number,
    { readonly sandbox: Sandbox; readonly failed: number; readonly records: number }
  >();
  #batch = 0;
  #windowEndsAt = Number.NEGATIVE_INFINITY;
  #lanes = LANES.least;
  #scaledAt = Number.NaN;
  #requests = 0;
  #completed = 0;

  constructor(events: Events, profile: Profile, random: () => number) {
    this.#events = events;
    this.#profile = profile;
    this.#random = random;
    this.lambda = new Lambda(profile, profile['sqs-memory']);
  }

  get measured(): SqsSimulated {
    return { pickup: this.#pickup, lambda: this.lambda, requests: this.#requests, completed: this.#completed };
  }

  send(now: number): void {
    if (now >= 0) this.#requests++;
    this.#waiting.push(now);
    if (this.#backlog === 1) this.#openWindow(now);
    this.#receive(now);
  }

  on(what: number, now: number): void {
    if (what === RETURNED) this.#waiting.push(Number.NaN);
    else if (what !== WINDOW) this.#invoked(what, now);
    while (this.#receive(now));
  }

  get #backlog(): number {
    return this.#waiting.length - this.#first;
  }

  /** From the first message of a batch on, it is waited for others. */
  #openWindow(now: number): void {
    const seconds = this.#profile['sqs-window-ms'] / 1000;
    this.#windowEndsAt = now + seconds;
    if (seconds > 0) this.#events.schedule(this.#windowEndsAt, this, WINDOW);
  }

  /** A poller takes what is there, if one is free. */
  #receive(now: number): boolean {
    if (this.#backlog === 0) return false;
    if (this.#backlog < this.#profile['sqs-batch'] && now < this.#windowEndsAt) return false;
    if (this.#batches.size >= this.#lanes) this.#scale(now);
    if (this.#batches.size >= this.#lanes) return false;
    const receivedAt = now + this.#profile['sqs-receive-ms'] / 1000;
    const sandbox = this.lambda.invoke(receivedAt);
    if (sandbox === undefined) return false;
    const records = Math.min(this.#backlog, this.#profile['sqs-batch']);
    const startedAt = receivedAt + sandbox.coldSeconds;
    let longest = 0;
    let failed = 0;
    for (let n = 0; n < records; n++) {
      const sentAt = this.#waiting[this.#first++] as number;
      if (sentAt >= 0) this.#pickup.add(startedAt - sentAt);
      const seconds = (this.#profile['job-ms'] / 1000) * logNormal(this.#profile['job-spread'], this.#random);
      longest = Math.max(longest, Math.min(seconds, this.#profile['job-timeout']));
      if (this.#random() < this.#profile.fail) failed++;
    }
    if (this.#first > 10_000 && this.#first * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    if (now >= 0) this.#requests += 1 + Number(records > failed);
    if (this.#backlog > 0) this.#openWindow(now);
    this.#batches.set(++this.#batch, { sandbox, failed, records });
    this.#events.schedule(startedAt + longest + OVERHEAD_SECONDS, this, this.#batch);
    return true;
  }

  #invoked(batch: number, now: number): void {
    const { sandbox, failed, records } = this.#batches.get(batch) as {
      sandbox: Sandbox;
      failed: number;
      records: number;
    };
    this.#batches.delete(batch);
    this.lambda.ended(sandbox, now);
    if (now >= 0) this.#completed += records - failed;
    const backAt = now + VISIBILITY_TIMEOUTS * this.#profile['job-timeout'];
    for (let n = 0; n < failed; n++) this.#events.schedule(backAt, this, RETURNED);
  }

  /** More at once while messages wait; as few as at first once it is quiet. */
  #scale(now: number): void {
    // It begins with the first that have to wait.
    if (Number.isNaN(this.#scaledAt)) this.#scaledAt = now;
    const more = ((now - this.#scaledAt) / 60) * LANES.moreAMinute;
    if (more < 1) return;
    const from = now - this.#scaledAt > 60 ? Math.max(LANES.least, this.#batches.size) : this.#lanes;
    this.#lanes = Math.min(LANES.most, from + Math.min(LANES.moreAMinute, Math.floor(more)));
    this.#scaledAt = now;
  }
}

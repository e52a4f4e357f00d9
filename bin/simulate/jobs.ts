import { grown } from './events.ts';
import { Histogram } from './histogram.ts';
import { Later } from './later.ts';

/** Seconds by which a reap delays a job, at random: as its statement has it (functions/queue/reap.ts). */
const REAP_DELAY = { least: 1, first: 10, most: 60, doublings: 3 };

/** Every job that is not finished, each a number, and what is measured of those that are. */
export class Jobs {
  readonly pickup = new Histogram();
  readonly total = new Histogram();
  readonly counts = { put: 0, completed: 0, retried: 0, released: 0, reaped: 0, dead: 0 };
  #createdAt = new Float64Array(1024);
  #claimedAt = new Float64Array(1024);
  #attempts = new Int32Array(1024);
  #reaps = new Uint8Array(1024);
  #started = new Uint8Array(1024);
  #made = 0;
  readonly #free: number[] = [];
  /** Due ones in a ring, in the order in which they became due. */
  #ring = new Int32Array(1024);
  #first = 0;
  #due = 0;
  readonly #later = new Later();
  readonly #leases = new Later();
  #processing = 0;

  get processing(): number {
    return this.#processing;
  }

  get unfinished(): number {
    return this.#made - this.#free.length;
  }

  /** Jobs that are due by now. */
  due(now: number): number {
    while (this.#later.next <= now) this.#append(this.#later.take());
    return this.#due;
  }

  put(now: number): void {
    const job = this.#free.pop() ?? this.#make();
    this.#createdAt[job] = now;
    this.#attempts[job] = 0;
    this.#reaps[job] = 0;
    this.#started[job] = 0;
    if (now >= 0) this.counts.put++;
    this.#append(job);
  }

  /** The job that has been due for longest; there must be one. */
  claim(now: number): number {
    const job = this.#ring[this.#first] as number;
    this.#first = (this.#first + 1) % this.#ring.length;
    this.#due--;
    this.#processing++;
    this.#claimedAt[job] = now;
    this.#attempts[job] = this.attemptsOf(job) + 1;
    return job;
  }

  started(job: number, now: number): void {
    if (this.#started[job] === 1) return;
    this.#started[job] = 1;
    const createdAt = this.#createdAt[job] as number;
    if (createdAt >= 0) this.pickup.add(now - createdAt);
  }

  /** Attempts, with the one that goes on. */
  attemptsOf(job: number): number {
    return this.#attempts[job] as number;
  }

  /** Seconds since it was claimed. */
  heldFor(job: number, now: number): number {
    return now - (this.#claimedAt[job] as number);
  }

  complete(job: number, now: number): void {
    const createdAt = this.#createdAt[job] as number;
    if (createdAt >= 0) {
      this.counts.completed++;
      this.total.add(now - createdAt);
    }
    this.#settled();
    this.#free.push(job);
  }

  bury(job: number): void {
    this.counts.dead++;
    this.#settled();
    this.#free.push(job);
  }

  retry(job: number, dueAt: number): void {
    this.counts.retried++;
    this.#settled();
    this.#later.put(job, dueAt);
  }

  release(job: number, dueAt: number): void {
    this.counts.released++;
    this.#settled();
    this.#attempts[job] = this.attemptsOf(job) - 1;
    this.#later.put(job, dueAt);
  }

  /** Whoever had it is gone: it stays as it is until a reap finds that its lease has run out. */
  abandon(job: number, leaseSeconds: number): void {
    this.#leases.put(job, (this.#claimedAt[job] as number) + leaseSeconds);
  }

  /** Takes back what nobody settled within its lease. */
  reap(now: number, maxAttempts: number, random: () => number): void {
    while (this.#leases.next <= now) {
      const job = this.#leases.take();
      this.counts.reaped++;
      this.#processing--;
      if (this.attemptsOf(job) >= maxAttempts) {
        this.counts.dead++;
        this.#free.push(job);
        continue;
      }
      const reaps = this.#reaps[job] as number;
      const { least, first, most, doublings } = REAP_DELAY;
      const ceiling = Math.min(most, first * 2 ** Math.min(reaps, doublings));
      this.#reaps[job] = reaps + 1;
      this.#later.put(job, now + least + random() * (ceiling - least));
    }
  }

  #settled(): void {
    this.#processing--;
  }

  #append(job: number): void {
    if (this.#due === this.#ring.length) this.#growRing();
    this.#ring[(this.#first + this.#due) % this.#ring.length] = job;
    this.#due++;
  }

  #growRing(): void {
    const ring = new Int32Array(2 * this.#ring.length);
    for (let at = 0; at < this.#due; at++) ring[at] = this.#ring[(this.#first + at) % this.#ring.length] as number;
    this.#ring = ring;
    this.#first = 0;
  }

  #make(): number {
    if (this.#made === this.#createdAt.length) {
      this.#createdAt = grown(this.#createdAt, Float64Array);
      this.#claimedAt = grown(this.#claimedAt, Float64Array);
      this.#attempts = grown(this.#attempts, Int32Array);
      this.#reaps = grown(this.#reaps, Uint8Array);
      this.#started = grown(this.#started, Uint8Array);
    }
    return this.#made++;
  }
}

import { Fenced, Unreachable } from '../../actors/ports/errors.ts';
import type { Leadership, LeadershipListener } from '../../actors/ports/leadership.ts';
import type { Clock } from '../../actors/ports/records.ts';

export interface MemoryLeaseOptions {
  /** How long the lease holds after its last renewal, ms. Default 15000. */
  readonly durationMs?: number;
  /** When a holder that cannot renew steps down, ms. Default 10000. */
  readonly renewDeadlineMs?: number;
  /** How often it is renewed or contended for, ms. Default 2000. */
  readonly retryMs?: number;
}

/** One lease that several processes contend for. */
export interface MemoryLease {
  contender(name: string): MemoryContender;
  /** The recorded holder, which may be a process that died. */
  holder(): string | null;
  term(): number;
  /** The Lease object is deleted: holder and term are gone. */
  delete(): void;
}

export interface MemoryContender extends Leadership {
  /** This process can no longer read or write the lease. */
  cut(): void;
  mend(): void;
  /** This process dies without notice, and its lease expires. */
  end(): void;
}

interface Lease {
  holder: string | null;
  /** Monotonic ms. */
  renewedAt: number;
  term: number;
  server: string | null;
  /** Number of deletions. */
  made: number;
}

interface Contender {
  readonly isCut: () => boolean;
  readonly see: () => void;
}

/** A lease in memory, on the clock that all its contenders share. */
export const memoryLease = (
  clock: Clock,
  { durationMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000 }: MemoryLeaseOptions = {},
): MemoryLease => {
  const lease: Lease = { holder: null, renewedAt: 0, term: 0, server: null, made: 0 };
  const contenders = new Set<Contender>();
  /** Like a watch. */
  const tellAll = (): void => {
    for (const each of contenders) if (!each.isCut()) each.see();
  };
  const isFree = (): boolean => lease.holder === null || clock.monotonic() - lease.renewedAt >= durationMs;

  const contender = (name: string): MemoryContender => {
    let cut = false;
    let ended = false;
    let contends = false;
    let leads = false;
    let renewedAt = Number.NEGATIVE_INFINITY;
    let seen = 0;
    let server: string | null = null;
    let on: string | null = null;
    let triedAt = Number.NEGATIVE_INFINITY;
    let told: LeadershipListener = { acquired: () => undefined, lost: () => undefined };
    let cancel = (): void => undefined;

    const see = (): void => {
      if (lease.term > 0) [seen, server, on] = [lease.term, lease.server, String(lease.made)];
      if (lease.holder !== null) renewedAt = lease.renewedAt;
    };
    const self: Contender = { isCut: () => cut || ended, see };
    const lose = (reason: string): void => {
      if (!leads) return;
      leads = false;
      told.lost(reason);
    };
    const hold = (): void => {
      lease.holder = name;
      lease.renewedAt = clock.monotonic();
      tellAll();
    };
    const contend = (unfit: string | null): void => {
      see();
      if (!isFree() || unfit !== null) return;
      hold();
      leads = true;
      told.acquired();
    };
    const renew = (): void => {
      const unfit = told.unfit?.() ?? null;
      if (!leads) contend(unfit);
      else if (lease.holder !== name) lose(`the lease is held by ${lease.holder ?? 'nobody'}`);
      else if (unfit === null) hold();
      else {
        lose(unfit);
        lease.holder = null;
      }
    };
    const tick = (): void => {
      if (ended || !contends) return;
      triedAt = clock.monotonic();
      if (!cut) renew();
      // Before it expires, and so before another process can take it.
      else if (clock.monotonic() - renewedAt >= renewDeadlineMs) lose(`the lease could not be renewed for ${renewDeadlineMs} ms`);
      cancel = clock.after(retryMs, tick);
    };
    return {
      start: async (listener) => {
        told = listener;
        contends = true;
        contenders.add(self);
        tick();
      },
      seenTerm: () => seen,
      seenServer: () => server,
      seenLease: () => on,
      isNew: () => lease.term === 0,
      writeTerm: async (term, opensOn) => {
        await Promise.resolve();
        if (ended) return new Promise(() => undefined);
        if (cut) throw new Unreachable(`lease: ${name} is cut off`);
        if (!leads || lease.holder !== name) throw new Fenced(`lease: it is held by ${lease.holder ?? 'nobody'}`);
        lease.term = term;
        lease.server = opensOn;
        tellAll();
      },
      lease: () => ({ renewedAt, durationMs }),
      triedAt: () => triedAt,
      holder: () => (isFree() ? null : lease.holder),
      release: async () => {
        cancel();
        contends = false;
        contenders.delete(self);
        if (!cut && leads && lease.holder === name) lease.holder = null;
        lose('released');
      },
      cut: () => {
        cut = true;
      },
      mend: () => {
        cut = false;
      },
      end: () => {
        cancel();
        ended = true;
        contenders.delete(self);
      },
    };
  };
  return {
    contender,
    holder: () => lease.holder,
    term: () => lease.term,
    delete: () => {
      lease.holder = null;
      lease.term = 0;
      lease.server = null;
      lease.made += 1;
    },
  };
};

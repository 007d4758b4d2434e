import { Fenced } from '../ports/errors.ts';
import type { Fence } from '../ports/fence.ts';
import type { Leadership } from '../ports/leadership.ts';
import type { Clock } from '../ports/records.ts';

export interface LeaderFencePorts {
  readonly leadership: Pick<Leadership, 'lease'>;
  readonly clock: Clock;
}

/** Fence for writes that the leader makes without a job: `leads` says whether this process still leads, as far as it knows. */
export const leaderFence = ({ leadership, clock }: LeaderFencePorts, what: string, leads: () => boolean): Fence => ({
  read: async () => {},
  assertFresh: () => {
    const { renewedAt, durationMs } = leadership.lease();
    if (!leads() || clock.monotonic() - renewedAt > durationMs) throw new Fenced(`${what} is another's to show`, 'stale');
  },
});

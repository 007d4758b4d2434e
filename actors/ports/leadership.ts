export interface LeadershipListener {
  acquired(): void;
  lost(reason: string): void;
  /** Called every few seconds: why another process should lead rather than this one, which then does not take the lease, and gives it up when it holds it. Null, or absent,
   *  when it may lead. Not called in a process that runs alone. */
  unfit?(): string | null;
}

/** Leader election. Only the leader runs cells; every replica runs provider jobs. */
export interface Leadership {
  /** Starts to contend. `acquired` and `lost` alternate; `lost` comes before another process can acquire. */
  start(listener: LeadershipListener): Promise<void>;
  /** The term on the Lease, as last seen; if it has none, or was deleted, the last one seen before. It only decreases after the Lease was deleted: its new creator could
   *  not know the former term. 0 for none. */
  seenTerm(): number;
  /** The server on which `seenTerm` was opened; null when the Lease does not say so. */
  seenServer(): string | null;
  /** The identity of the Lease that had `seenTerm`: one that was deleted and recreated is another. Null for none. */
  seenLease(): string | null;
  /** The Lease has no term: it was created a moment ago. */
  isNew(): boolean;
  /** Writes `term` on the Lease, with the server on which it will be opened, provided the Lease was not written since. @throws Unreachable; Fenced when the lease is not,
   *  or no longer, ours */
  writeTerm(term: number, server: string | null): Promise<void>;
  /** Monotonic time (ms) at which the Lease was last seen renewed by its holder, and its duration, ms. */
  lease(): { readonly renewedAt: number; readonly durationMs: number };
  /** When it last began to renew the Lease or to check whether it can be taken, monotonic ms: every few seconds, also in an outage. */
  triedAt(): number;
  /** The leader, as it named itself; null when none is known. */
  holder(): string | null;
  /** Releases the lease, if held, so that another replica need not wait for it to expire. */
  release(): Promise<void>;
}

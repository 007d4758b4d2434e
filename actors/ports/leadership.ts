export interface LeadershipListener {
  acquired(): void;
  lost(reason: string): void;
  /** Asked every few seconds: why another process should lead rather than this one, which then does not take the lease, and gives it up when it holds it.
   *  Null, or absent, when it may lead. Not asked of a process that runs alone. */
  unfit?(): string | null;
}

/** Who decides. Only the leader runs cells; every replica runs provider jobs. */
export interface Leadership {
  /** Starts to contend. `acquired` and `lost` are called in turns; `lost` before another process can acquire. */
  start(listener: LeadershipListener): Promise<void>;
  /** The term that the Lease bears, as last seen; of one that bears none, or was deleted, what it bore before. It is lower than one seen before only after the
   *  Lease was deleted: whoever made it anew could not know of that one. 0 for none. */
  seenTerm(): number;
  /** The server on which `seenTerm` was opened; null when the Lease does not say so. */
  seenServer(): string | null;
  /** Which Lease bore `seenTerm`: one that was deleted and made anew is another. Null for none. */
  seenLease(): string | null;
  /** The Lease bears no term: it was made a moment ago. */
  isNew(): boolean;
  /** Writes `term` on the Lease, with the server on which it is to be opened beside it, provided nobody wrote since. @throws Unreachable; Fenced when the lease is not ours (any more) */
  writeTerm(term: number, server: string | null): Promise<void>;
  /** Monotonic time (ms) at which the Lease was last seen renewed by its holder, and its duration, ms. */
  lease(): { readonly renewedAt: number; readonly durationMs: number };
  /** When it last began to renew the Lease or to look whether it can be taken, monotonic ms: every few seconds, also in an outage. */
  triedAt(): number;
  /** Who leads, as its holder named itself; null when nobody is known to. */
  holder(): string | null;
  /** Gives the lease up, if held, so that another replica need not wait for its end. */
  release(): Promise<void>;
}

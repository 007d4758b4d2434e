import { type Beginning, NOTHING_DROPPED } from './beginning.ts';
import type { Halt } from './cell.ts';
import type { Leader } from './leader.ts';
import { Outage, type OutagePorts } from './outage.ts';
import type { Leadership } from './ports/leadership.ts';
import type { RecordStore } from './ports.ts';
import {
  type Dropping,
  dropOutdated,
  inDoubtUntil,
  journalsOf,
  type Memory,
  type RestorePorts,
  rememberedInDoubtUntil,
  restoreCells,
} from './takeover.ts';
import { withUnheard } from './unheard.ts';

export interface TermsPorts extends OutagePorts, RestorePorts {
  readonly settings: OutagePorts['settings'];
  readonly leadership: Leadership;
  /** The terms that the statuses bear, as they are now. */
  readonly shownTerms: () => readonly number[];
  readonly leaderOf: (term: number, halted: (why: Halt) => void) => Leader;
  /** A term is about to begin, or is over: what was shown of a former one is to be forgotten. */
  readonly reset: () => void;
  /** A leader has taken everything over. */
  readonly opened: (leader: Leader) => void;
}

/** What a leader knows, once it has ended: a turn that it has just saved is part of it. */
type Known = () => Memory;

type Found = Awaited<ReturnType<RecordStore['state']>>;

/** How many of them are kept at most. */
const STAND_INS = 5;

interface LastTerm {
  readonly term: number;
  /** The server that held the records; null when that was not known any more. */
  readonly runId: string | null;
  readonly memory: Known;
}

/** The terms that this process leads, one after the other. Starts over, under a new one, whenever the store was lost or written by another, goes away or is back. */
export class Terms {
  readonly outage: Outage;
  readonly #ports: TermsPorts;
  #leader: Leader | null = null;
  #holdsLease = false;
  #stopping = false;
  /** Counts changes of leadership: an opening that is overtaken gives up. */
  #round = 0;
  /** What this round begins with; null for what the store holds. */
  #begins: Known | null = null;
  #opening: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #runId: string | null = null;
  /** What this process knew when its last term ended. */
  #last: LastTerm | null = null;
  /** The last term that it wrote on the Lease and could not open in the store, and the last one before in which anything may have been decided. */
  #vain: { readonly term: number; readonly decided: number } | null = null;
  /** What was in memory while the store was away, oldest first, until that is written to it. */
  #standIns: readonly RecordStore[] = [];
  /** What records told that it took out of the store since it has the Lease, until what was made of them is stored. */
  #dropped: Dropping | null = null;
  #hindrance: string | null = null;
  /** Since when it takes the records over without having heard of an error, monotonic ms; null while it does not. */
  #takingOverSince: number | null = null;
  #asked = 0;
  #heard = 0;

  constructor(ports: TermsPorts) {
    this.#ports = ports;
    this.outage = new Outage(ports);
  }

  get leader(): Leader | null {
    return this.#leader;
  }

  get takingOverSince(): number | null {
    return this.#takingOverSince;
  }

  /** Why it does not decide although it leads; null when it does, or does not lead. */
  get hindrance(): string | null {
    return !this.#holdsLease || this.#leader ? null : (this.#hindrance ?? 'it is about to');
  }

  acquired(): void {
    this.#holdsLease = true;
    this.outage.leaseTaken();
    if (this.outage.isLong) this.outage.goAway();
    this.#lead(null);
  }

  lost(): void {
    this.#holdsLease = false;
    this.#round += 1;
    const leader = this.#leader;
    const hasOpened = this.#takingOverSince === null;
    if (leader && hasOpened) this.#last = { term: leader.term, runId: this.#runId, memory: () => leader.memory() };
    this.#takingOverSince = null;
    this.#leader = null;
    this.#dropped = null;
    leader?.halt('stale');
    // Nobody but this process would ever know of what it sent from there.
    if (this.outage.isAway) this.#keep(this.outage.leave());
    this.#ports.reset();
    this.#opening = this.#opening.catch(() => undefined).then(() => leader?.close('stale', 1000));
  }

  /** Why another process should lead; null when this one may. */
  unfit(): string | null {
    if (this.#holdsLease) return this.outage.unfitToLead();
    return this.outage.unfitToTake(this.#last?.term === this.#ports.leadership.seenTerm());
  }

  /** Opens no more terms. */
  stop(): void {
    this.#stopping = true;
    this.#wake();
    this.#round += 1;
  }

  /** Resolves once nothing is opened any more and the last term has ended. */
  async close(graceMs: number): Promise<void> {
    await this.#opening.catch(() => undefined);
    await this.#leader?.close('stale', graceMs);
  }

  /** Finds out when the store is away, is back, was emptied, or is another server than before: an acknowledged write may be gone then. */
  async checkStore(): Promise<void> {
    const { away, store, leadership } = this.#ports;
    this.outage.holderSeen(leadership.holder());
    this.#asked += 1;
    const asked = this.#asked;
    const found = await (away ? away.askUsual() : store.state()).catch((error: unknown) => ({ error }));
    // Of two answers that cross the one to the later question counts.
    if (asked < this.#heard || this.#stopping) return;
    this.#heard = asked;
    if ('error' in found) this.#storeFailed(found.error);
    else this.#storeAnswered(found);
  }

  #storeFailed(error: unknown): void {
    this.outage.failed(error);
    if (!this.outage.isLong || this.outage.isAway || !this.#holdsLease) return;
    // What this process knows goes on in its memory, under a new term: older jobs die, whoever has them.
    const known = this.#known();
    this.#leader?.halt('stale');
    this.outage.goAway();
    this.#lead(known);
  }

  #storeAnswered({ term, runId }: Found): void {
    this.outage.answered();
    if (this.outage.isAway) {
      if (this.outage.isOver && this.#holdsLease) this.#comeBack(term ?? 0);
      return;
    }
    // Somebody has led since: what this process remembers is of no use any more.
    if (this.#last && (term ?? 0) > this.#last.term) this.#last = null;
    if (this.#holdsLease && this.#leader && this.#runId !== null) this.#compare(this.#leader, { term, runId });
  }

  /** Whether the store still is what the leader has left there. */
  #compare(leader: Leader, { term, runId }: Found): void {
    if (term !== null && term > leader.term) this.#lead(null);
    else if (term === null || runId !== this.#runId) {
      this.#ports.log.warn(term === null ? 'the store was emptied' : 'the store is another server than before', { runId });
      this.#runId = null;
      this.#lead(this.#known());
    }
  }

  /** What was decided in memory is written over what the store has kept, unless somebody else has decided since. */
  #comeBack(stored: number): void {
    const known = this.#leader && stored > this.#leader.term ? null : this.#known();
    this.#leader?.halt('stale');
    this.#keep(this.outage.comeBack());
    this.#runId = null;
    this.#lead(known);
  }

  /** Transitions that are in memory alone are added to the journal when the store is back; those of the last times, should it be away for very long. */
  #keep(standIn: RecordStore | null): void {
    if (standIn) this.#standIns = [...this.#standIns, standIn].slice(-STAND_INS);
  }

  /** All that this process knows of what was decided; null when it does not know it. */
  #known(): Known | null {
    const leader = this.#leader;
    return leader?.hasRecords ? () => leader.memory() : this.#begins;
  }

  /** Opens a term, again and again until it works or the lease is gone. */
  #lead(begins: Known | null): void {
    this.#round += 1;
    this.#begins = begins;
    this.#takingOverSince = this.#ports.clock.monotonic();
    this.#wake();
    const round = this.#round;
    this.#opening = this.#opening.catch(() => undefined).then(() => this.#open(round, begins));
  }

  async #open(round: number, begins: Known | null): Promise<void> {
    const former = this.#leader;
    // Should the Lease be lost before the next one has opened.
    if (former?.hasRecords) this.#last = { term: former.term, runId: this.#runId, memory: () => former.memory() };
    await former?.close('stale', 1000);
    this.#leader = null;
    const memory = begins?.() ?? null;
    for (let attempt = 1; this.#isCurrent(round); attempt += 1) {
      try {
        await this.#openOnce(memory, round);
        return;
      } catch (error) {
        this.#hindrance = error instanceof Error ? error.message : String(error);
        if (this.#takingOverSince !== null) this.#takingOverSince = this.#ports.clock.monotonic();
        this.#ports.log.warn('the records could not be taken over yet', { attempt, error: this.#hindrance });
        if (this.#isCurrent(round)) await this.#pause(Math.min(500 * attempt, 5000));
      }
    }
  }

  /** Ends early when the process is to stop, or another round begins. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async #openOnce(memory: Memory | null, round: number): Promise<void> {
    const { store } = this.#ports;
    await store.check();
    const { term: stored, runId } = await store.state();
    const { known, term, decided } = await this.#writeTerm(memory, { term: stored, runId });
    // Whoever was overtaken meanwhile would go on in another place than he has asked.
    if (!this.#isCurrent(round)) return;
    const beginning = await this.#bringUpToDate(known, stored, decided);
    if (!this.#isCurrent(round)) return;
    if (!(await store.openTerm(term))) throw new Error(`the store holds a higher term than ${term}`);
    this.#runId = runId;
    // Nobody would end its pause any more.
    if (!this.#isCurrent(round)) return;
    if (known === null && this.outage.isAway && stored === null) await this.#settle();
    if (!this.#isCurrent(round)) return;
    // From here on something may be decided under this term.
    this.#vain = null;
    const { clock, settings } = this.#ports;
    // The store refuses former terms from now on: what can still take effect is a call that is under way.
    const restored = beginning.restored && inDoubtUntil(beginning.restored, clock.now() + settings.callDeadlineMs);
    await this.#takeOver(known, { ...beginning, restored }, { term, round });
  }

  /** Writes a term on the Lease that is higher than all that are known; `decided`: the last one before it in which anything may have been decided. */
  async #writeTerm(
    memory: Memory | null,
    { term: stored, runId }: Found,
  ): Promise<{ readonly known: Memory | null; readonly term: number; readonly decided: number }> {
    const { leadership, shownTerms } = this.#ports;
    const highest = Math.max(leadership.seenTerm(), stored ?? 0, ...shownTerms());
    const known = memory ?? this.#remembered(highest, stored, runId);
    const term = highest + 1;
    await leadership.writeTerm(term);
    this.outage.termWritten(known !== null);
    // Should this fail further on, the next try is not to take its own term for somebody else's.
    if (this.#last?.term === highest) this.#last = { ...this.#last, term };
    const decided = this.#vain?.term === highest ? this.#vain.decided : highest;
    this.#vain = { term, decided };
    return { known, term, decided };
  }

  async #takeOver(
    known: Memory | null,
    beginning: Beginning,
    { term, round }: { readonly term: number; readonly round: number },
  ): Promise<void> {
    this.#ports.reset();
    const leader = this.#ports.leaderOf(term, (why) => this.#halted(leader, why));
    // From here on facts reach it; what it may not hear yet it asks for when it opens.
    this.#leader = leader;
    try {
      await leader.open(known && this.#unsettled(known), beginning);
    } catch (error) {
      this.#leader = null;
      await leader.close('stale', 0);
      throw error;
    }
    this.#hindrance = null;
    this.#last = null;
    if (!known || !this.outage.isAway) this.#standIns = [];
    if (!this.#isCurrent(round)) return;
    this.#takingOverSince = null;
    // All that it tells is with this leader now.
    this.#begins = null;
    // Should it end before, the next one reads a store that has neither what was dropped nor what takes its place.
    void leader.begun().then(() => {
      if (this.#isCurrent(round)) this.#dropped = null;
    });
    this.#ports.log.info('leads', { term, cells: leader.cells.size, from: known ? 'memory' : 'store' });
    this.#ports.opened(leader);
  }

  /** What the store holds is older than what was decided since, without it: who knows all of that writes it there, who does not takes out what is there. Both before the
   *  new term is opened: until then whoever comes next, should this process end on the way, finds a term there that is older than the one on the Lease, and goes by
   *  what was shown before each effect, and by nothing that may be a part of what there was. */
  async #bringUpToDate(known: Memory | null, stored: number | null, decided: number): Promise<Beginning> {
    const { store, log, clock, settings } = this.#ports;
    const isFleeting = store.isFleeting?.() ?? false;
    const journalOf = journalsOf(store, this.#standIns);
    // It comes back, perhaps not for the first time: a term that was opened, and not taken over, changes nothing of what is in doubt.
    const comesBack = known !== null && !isFleeting && this.#standIns.length > 0;
    if (!comesBack && (stored === null || stored >= decided)) {
      return { isShownFirst: isFleeting || this.#dropped !== null, dropped: this.#dropped ?? NOTHING_DROPPED, journalOf, restored: null };
    }
    const under = stored ?? decided - 1;
    if (stored === null && !(await store.openTerm(under))) throw new Error(`the store holds a higher term than ${under}`);
    if (known !== null) {
      // Should this process end before it has said by when all is settled, what stands there says so for long enough.
      const until = clock.now() + settings.storePatienceMs + settings.callDeadlineMs;
      const restored = await restoreCells(rememberedInDoubtUntil(known, until), this.#ports, under, journalOf);
      return { isShownFirst: true, dropped: NOTHING_DROPPED, journalOf, restored };
    }
    log.warn('the stored records are out of date, and are rebuilt from what is shown', { stored, decided });
    // Should this fail on the way, the next try does not find what is gone by then.
    this.#dropped = { term: under, intents: this.#dropped?.intents ?? new Map(), doubts: this.#dropped?.doubts ?? new Map() };
    await dropOutdated(this.#ports, this.#dropped);
    return { isShownFirst: true, dropped: this.#dropped, journalOf, restored: null };
  }

  /** With what others may still do of what stood in the store when that went. */
  #unsettled(known: Memory): Memory {
    const { clock } = this.#ports;
    const ms = this.outage.settledAt - clock.monotonic();
    return ms > 0 ? withUnheard(known, clock.now(), ms) : known;
  }

  /** Nobody knows what a former leader had sent: it takes effect, or is not sent any more, before anything is read. */
  async #settle(): Promise<void> {
    const ms = this.outage.settledAt - this.#ports.clock.monotonic();
    this.#hindrance = `what may have been sent before takes effect first, for ${Math.ceil(ms / 1000)} s`;
    await this.#pause(ms);
    this.#takingOverSince = this.#takingOverSince === null ? null : this.#ports.clock.monotonic();
  }

  #isCurrent = (round: number): boolean => round === this.#round && this.#holdsLease && !this.#stopping;

  #halted(leader: Leader, why: Halt): void {
    if (leader !== this.#leader || !this.#holdsLease || this.#stopping) return;
    if (why !== 'lost') this.#lead(null);
    // What was read so far may be a part of what there is.
    else this.#lead(this.#takingOverSince === null ? this.#known() : this.#begins);
  }

  /** What this process knew when it led last, provided that nobody has led since and the store has lost what it acknowledged then, or may have. */
  #remembered(highest: number, stored: number | null, runId: string): Memory | null {
    if (this.#last?.term !== highest) return null;
    return stored === null || stored < highest || runId !== this.#last.runId ? this.#last.memory() : null;
  }
}

import { type ActorId, isTerm } from '../../machines/model/types.ts';
import type { Leadership } from '../ports/leadership.ts';
import type { RecordStore, StoredCell } from '../ports/records.ts';
import type { Halt } from '../runtime/cell.ts';
import { Outage, type OutagePorts } from '../runtime/outage.ts';
import { withUnheard } from './in-doubt.ts';
import type { Leader } from './leader.ts';
import { inDoubtUntil, rebuildCells, rememberedInDoubtUntil, type TakeoverPorts, writeMemory } from './recovery.ts';

export interface TermsPorts extends OutagePorts, TakeoverPorts {
  readonly settings: OutagePorts['settings'];
  readonly leadership: Leadership;
  /** The terms in the statuses, as they are now. */
  readonly shownTerms: () => Promise<readonly number[]>;
  readonly leaderOf: (term: number, halted: (why: Halt) => void) => Leader;
  /** A term is about to begin, or is over: what was shown of a former one has to be dropped. */
  readonly reset: () => void;
  /** A leader has completed its takeover. */
  readonly opened: (leader: Leader) => void;
}

/** A term that lasts less counts as failed, and the next one may fail too, ms. */
const BRIEF_MS = 5000;

const pauseMs = (times: number): number => Math.min(500 * times, 5000);

type Found = Awaited<ReturnType<RecordStore['state']>>;

/** The last decisions, as far as this process knows. */
interface Last {
  /** The highest term that it wrote on the Lease. */
  readonly written: number;
  /** The uid of the Lease on which it wrote that; null where it is not known. */
  readonly lease: string | null;
  /** The last term up to `written` under which anything may have been decided. */
  readonly decided: number;
  /** The server that acknowledged what was decided; null when that is not known. */
  readonly server: string | null;
  /** The leader that knows all that was decided; null when this process does not. It has ended, but a turn that it has just saved is included. */
  readonly leader: Leader | null;
  /** It was rebuilt without the store: this process does not know what else the store holds. */
  readonly unread: boolean;
}

const NOTHING: Last = { written: 0, lease: null, decided: 0, server: null, leader: null, unread: false };

/** How a term begins. *Continue*: all that was decided is available, in the memory of the process that led last or in the store. *Rebuild*: it is not, and what the
 *  statuses and the provider say counts. */
type Beginning = 'continue' | 'rebuild';

/** The terms that this process leads, one after another. Starts over under a new term whenever the store was lost or written by another process, goes away or is back. */
export class Terms {
  readonly outage: Outage;
  readonly #ports: TermsPorts;
  #leader: Leader | null = null;
  #holdsLease = false;
  #stopping = false;
  /** Counts changes of leadership: an opening that is overtaken gives up. */
  #round = 0;
  #opening: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #runId: string | null = null;
  #last = NOTHING;
  /** Until when an unrecorded call of a former leader may take effect, monotonic ms. */
  #unrecordedUntil = Number.NEGATIVE_INFINITY;
  #hindrance: string | null = null;
  /** Since when it has been taking over the records without an error, monotonic ms; null while it does not. */
  #takingOverSince: number | null = null;
  /** How many terms in a row have ended soon after they had begun, and when the last one began, monotonic ms. */
  #brief = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
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

  /** It leads, and has taken the records over. */
  get decides(): boolean {
    return this.#leader !== null && this.#takingOverSince === null;
  }

  /** Why it does not decide although it leads; null when it does, or does not lead. */
  get hindrance(): string | null {
    return !this.#holdsLease || this.#leader ? null : (this.#hindrance ?? 'it is about to');
  }

  acquired(): void {
    this.#holdsLease = true;
    this.outage.leaseTaken();
    if (this.outage.isLong) this.outage.goAway();
    this.#lead();
  }

  lost(): void {
    this.#holdsLease = false;
    this.#round += 1;
    const leader = this.#leader;
    this.#takingOverSince = null;
    this.#leader = null;
    leader?.halt('stale');
    // Only this process would ever know what was sent from memory.
    if (this.outage.isAway) this.outage.leave();
    this.#ports.reset();
    this.#opening = this.#opening.catch(() => undefined).then(() => leader?.close('stale', 1000));
  }

  /** Why another process should lead; null when this one may. */
  unfit(): string | null {
    if (this.#holdsLease) return this.outage.unfitToLead();
    return this.outage.unfitToTake(this.#last.leader !== null && this.#isLast());
  }

  /** No other process has written a term since this one did. On another Lease the same number is another process's term, written without knowledge of ours. */
  #isLast(): boolean {
    const { leadership } = this.#ports;
    return this.#last.written === leadership.seenTerm() && this.#last.lease === leadership.seenLease();
  }

  /** Opens no more terms. */
  stop(): void {
    this.#stopping = true;
    this.#wake();
    this.#round += 1;
  }

  /** Resolves once no more terms are opened and the last term has ended. */
  async close(graceMs: number): Promise<void> {
    await this.#opening.catch(() => undefined);
    await this.#leader?.close('stale', graceMs);
  }

  /** Detects when the store is away, is back, was emptied, or is another server than before: an acknowledged write may be lost then. */
  async checkStore(): Promise<void> {
    const { away, store, leadership } = this.#ports;
    this.outage.holderSeen(leadership.holder());
    this.#asked += 1;
    const asked = this.#asked;
    const leader = this.#leader;
    const found = await (away ? away.askUsual() : store.state()).catch((error: unknown) => ({ error }));
    // When two answers cross, the one to the later request counts.
    if (asked < this.#heard || this.#stopping) return;
    this.#heard = asked;
    if ('error' in found) this.#storeFailed(found.error);
    else this.#storeAnswered(found, leader);
  }

  #storeFailed(error: unknown): void {
    this.outage.failed(error);
    if (!this.outage.isLong || this.outage.isAway || !this.#holdsLease) return;
    // What this process knows goes on in its memory, under a new term that voids older jobs in any process.
    this.#leader?.halt('stale');
    this.outage.goAway();
    this.#lead();
  }

  /** `asker`: the leader when the request was sent. The answer may predate a later term that was opened in the store. */
  #storeAnswered({ term, runId }: Found, asker: Leader | null): void {
    this.outage.answered();
    if (this.outage.isAway) {
      if (this.outage.isOver && this.#holdsLease) this.#comeBack();
      return;
    }
    // Another process has led since: what this one remembers is obsolete.
    if ((term ?? 0) > this.#last.written) this.#last = NOTHING;
    if (this.#holdsLease && asker && asker === this.#leader && this.#runId !== null) this.#compare(asker, { term, runId });
  }

  /** Leads again unless the store is still as the leader left it. */
  #compare(leader: Leader, { term, runId }: Found): void {
    if (term !== null && term > leader.term) this.#lead();
    else if (term === null || runId !== this.#runId) {
      this.#ports.log.warn(term === null ? 'the store was emptied' : 'the store is another server than before', { runId });
      this.#runId = null;
      this.#lead();
    }
  }

  #comeBack(): void {
    this.#leader?.halt('stale');
    this.outage.comeBack();
    this.#runId = null;
    this.#lead();
  }

  /** Opens a term, retrying until it works or the lease is lost. */
  #lead(): void {
    this.#round += 1;
    this.#takingOverSince = this.#ports.clock.monotonic();
    this.#wake();
    const round = this.#round;
    this.#opening = this.#opening.catch(() => undefined).then(() => this.#open(round));
  }

  async #open(round: number): Promise<void> {
    await this.#leader?.close('stale', 1000);
    this.#leader = null;
    if (this.#brief > 1) await this.#pause(pauseMs(this.#brief));
    for (let attempt = 1; this.#isCurrent(round); attempt += 1) {
      try {
        await this.#openOnce(round);
        return;
      } catch (error) {
        this.#hindrance = error instanceof Error ? error.message : String(error);
        if (this.#takingOverSince !== null) this.#takingOverSince = this.#ports.clock.monotonic();
        this.#ports.log.warn('the records could not be taken over yet', { attempt, error: this.#hindrance });
        if (this.#isCurrent(round)) await this.#pause(pauseMs(attempt));
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

  async #openOnce(round: number): Promise<void> {
    const { store } = this.#ports;
    await store.check();
    const found = await store.state();
    const last = await this.#writeTerm(found);
    // An overtaken opening would go on with another store than the one it has queried.
    if (!this.#isCurrent(round)) return;
    const beginning = beginningOf(last, found);
    const written = await this.#bringUpToDate(beginning, last, found);
    if (!this.#isCurrent(round)) return;
    if (!(await store.openTerm(last.written))) throw new Error(`the store holds a higher term than ${last.written}`);
    this.#runId = found.runId;
    // Once overtaken, a pause would no longer be ended.
    if (!this.#isCurrent(round)) return;
    if (beginning === 'rebuild') await this.#settle();
    if (!this.#isCurrent(round)) return;
    // From here on something may be decided under this term.
    const unread = Boolean(store.isFleeting?.()) && (last.unread || beginning === 'rebuild');
    this.#last = { ...last, decided: last.written, server: this.#serverOf(found), unread };
    await this.#takeOver(beginning, written, round);
  }

  /** Writes a term on the Lease that is higher than all known ones, together with the server on which it will be opened. */
  async #writeTerm(found: Found): Promise<Last> {
    const { leadership, shownTerms, store, clock, settings } = this.#ports;
    const shown = await shownTerms();
    const highest = Math.max(leadership.seenTerm(), found.term ?? 0, ...shown);
    // After the Lease was deleted, other processes may have led under lower terms than ours.
    const isOwn = this.#last.written === highest && this.#isLast();
    const last = isOwn ? this.#last : { ...NOTHING, decided: highest, server: leadership.seenServer() };
    const written = Math.max(highest, this.#last.written) + 1;
    if (!isTerm(written))
      throw new Error(`no term comes after ${written - 1}: somebody else has written that on the Lease, in Redis or in a status`);
    // Statuses lag behind, except those of a leader in memory, and a new Lease is taken without any delay.
    const isUnrecorded = highest > 0 && !last.leader && found.term === null && leadership.isNew() && !store.isFleeting?.();
    if (isUnrecorded) this.#unrecordedUntil = clock.monotonic() + settings.callDeadlineMs;
    await leadership.writeTerm(written, this.#serverOf(found));
    this.outage.termWritten(last.leader !== null);
    // If a later step fails, the next attempt must not take this term for that of another process.
    this.#last = { ...last, written, lease: leadership.seenLease() };
    return this.#last;
  }

  /** Completes the store before the new term is opened in it: if this process ends midway, the next leader finds a term there that is older than the one on the Lease, and
   *  rebuilds. Returns what it has written if that is everything, else null. */
  async #bringUpToDate(beginning: Beginning, { decided, leader, unread }: Last, { term: stored }: Found): Promise<Cells | null> {
    const { store, log, clock, settings } = this.#ports;
    if (!leader && (beginning === 'continue' || stored === null)) return null;
    const under = stored ?? decided - 1;
    if (stored === null && !(await store.openTerm(under))) throw new Error(`the store holds a higher term than ${under}`);
    if (leader) {
      // If this process ends before it has recorded when everything is settled, these doubts last long enough.
      const until = clock.now() + settings.storePatienceMs + settings.callDeadlineMs;
      const memory = withUnheard(leader.memory(), clock.now(), this.#unsettledMs());
      return writeMemory(rememberedInDoubtUntil(memory, until), this.#ports, under, unread);
    }
    log.warn('the stored records are out of date, and are rebuilt from what is shown', { term: decided, storedTerm: stored });
    await rebuildCells(this.#ports, under);
    return null;
  }

  async #takeOver(beginning: Beginning, written: Cells | null, round: number): Promise<void> {
    const { clock, log, settings } = this.#ports;
    this.#ports.reset();
    const leader = this.#ports.leaderOf(this.#last.written, (why) => this.#halted(leader, why));
    // From here on facts reach it; those that it cannot accept yet are read again when it opens.
    this.#leader = leader;
    try {
      // The store refuses former terms from now on. Only a call under way can still take effect and, while the store is away, jobs that other processes may have taken from
      // it.
      await leader.open(written && inDoubtUntil(written, clock.now() + Math.max(settings.callDeadlineMs, this.#unsettledMs())));
    } catch (error) {
      this.#leader = null;
      await leader.close('stale', 0);
      throw error;
    }
    this.#hindrance = null;
    this.#last = { ...this.#last, leader };
    if (!this.#isCurrent(round)) return;
    this.#takingOverSince = null;
    this.#openedAt = clock.monotonic();
    log.info('leads', { term: leader.term, cells: leader.cells.size, begins: beginning, records: written ? 'memory' : 'store' });
    this.#ports.opened(leader);
  }

  /** What a former leader had sent is unknown: it takes effect, or can no longer be sent, before anything is read. */
  async #settle(): Promise<void> {
    const ms = this.#unsettledMs();
    if (ms === 0) return;
    this.#hindrance = `what may have been sent before takes effect first, for ${Math.ceil(ms / 1000)} s`;
    await this.#pause(ms);
    this.#takingOverSince = this.#takingOverSince === null ? null : this.#ports.clock.monotonic();
  }

  /** How long other processes may still send what was decided in the store before it was lost, and a call may take effect, ms. */
  #unsettledMs(): number {
    return Math.max(0, Math.max(this.outage.settledAt, this.#unrecordedUntil) - this.#ports.clock.monotonic());
  }

  /** Null for memory: another process could not find it again. */
  #serverOf({ runId }: Found): string | null {
    return this.#ports.store.isFleeting?.() ? null : runId;
  }

  #isCurrent = (round: number): boolean => round === this.#round && this.#holdsLease && !this.#stopping;

  #halted(leader: Leader, why: Halt): void {
    if (leader !== this.#leader || !this.#holdsLease || this.#stopping) return;
    // Another process has written since, or a write of ours took effect although its answer was lost: the store knows more than this process.
    if (why !== 'lost') this.#last = { ...this.#last, leader: null };
    this.#brief = this.#ports.clock.monotonic() - this.#openedAt < BRIEF_MS ? this.#brief + 1 : 0;
    this.#lead();
  }
}

type Cells = ReadonlyMap<ActorId, StoredCell>;

/** A store that has acknowledged the last term, and is still the same server, holds all that was decided. A Lease written by an earlier version does not name the server. */
const beginningOf = ({ decided, server, leader }: Last, { term, runId }: Found): Beginning =>
  leader || (term !== null && term >= decided && (server ?? runId) === runId) ? 'continue' : 'rebuild';

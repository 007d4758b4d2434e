import { Unreachable } from '../../actors/ports/errors.ts';
import type { RecordStore, SaveResult, StoreFault } from '../../actors/ports/records.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { type CellData, cellOf, claimsOf, copyOf, type StoreData, saveInto } from './store-data.ts';

/** A record store in memory, with the failures of a real one. */
export interface MemoryStore extends RecordStore {
  /** This process dies: its calls never settle. Returns the handle of its successor. */
  reopen(): MemoryStore;
  /** Another process on the same store. */
  connect(): MemoryStore;
  /** Everything is gone, as after FLUSHALL. */
  wipe(): void;
  /** The server restarts with a new run id. With a checkpoint it has lost every write made since. */
  restart(checkpoint?: StoreCheckpoint): void;
  checkpoint(): StoreCheckpoint;
  /** From now on every call throws `Unreachable`. */
  goDown(): void;
  comeBack(): void;
  /** The same for this process alone, until `mend`. */
  cut(): void;
  mend(): void;
  /** Sets the configuration faults from now on. */
  misconfigure(faults: readonly StoreFault[]): void;
  /** The next `count` saves take effect but throw `Unreachable`. */
  loseReplies(count: number): void;
}

export interface StoreCheckpoint {
  readonly data: StoreData;
}

export interface MemoryStoreOptions {
  /** How many transitions are kept per cell. Default 200. */
  readonly journalLength?: number;
  /** It belongs to one process, and ends with it. */
  readonly fleeting?: boolean;
}

interface Server {
  data: StoreData;
  runs: number;
  down: boolean;
  repliesToLose: number;
  faults: readonly StoreFault[];
}

const emptyData = (): StoreData => ({ term: null, openedBy: 0, cells: new Map(), claims: new Map() });

/** An empty store. Stored values pass through JSON, so that only data survives. */
export const memoryStore = (options: MemoryStoreOptions = {}): MemoryStore =>
  handleOn({ data: emptyData(), runs: 1, down: false, repliesToLose: 0, faults: [] }, options);

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

const handleOn = (server: Server, options: MemoryStoreOptions): MemoryStore => {
  let dead = false;
  let isCut = false;
  // `run` is synchronous: each call is atomic, like a Lua script.
  const call = async <T>(run: (data: StoreData) => T): Promise<T> => {
    await Promise.resolve();
    if (dead) return never();
    if (server.down || isCut) throw new Unreachable('memory store: switched off');
    const result = run(server.data);
    // The reply comes later than the effect; a process that dies between them never sees it.
    await Promise.resolve();
    return dead ? never() : result;
  };

  return {
    ...recordStore(call, server, options),
    reopen: () => {
      dead = true;
      return handleOn(server, options);
    },
    connect: () => handleOn(server, options),
    wipe: () => {
      server.data = emptyData();
    },
    restart: (checkpoint) => {
      server.runs += 1;
      if (checkpoint !== undefined) server.data = copyOf(checkpoint.data);
    },
    checkpoint: () => ({ data: copyOf(server.data) }),
    goDown: () => {
      server.down = true;
    },
    comeBack: () => {
      server.down = false;
    },
    cut: () => {
      isCut = true;
    },
    mend: () => {
      isCut = false;
    },
    misconfigure: (faults) => {
      server.faults = faults;
    },
    loseReplies: (count) => {
      server.repliesToLose = count;
    },
  };
};

type CallStore = <T>(run: (data: StoreData) => T) => Promise<T>;

const recordStore = (call: CallStore, server: Server, { journalLength = 200, fleeting = false }: MemoryStoreOptions): RecordStore => ({
  judge: () => call(() => server.faults),
  check: () => call(() => undefined),
  state: () => call((data) => ({ term: data.term, runId: `run-${server.runs}` })),
  openTerm: (term) =>
    call((data) => {
      if (data.term !== null && data.term > term) return false;
      data.term = term;
      data.openedBy = server.runs;
      return true;
    }),
  cells: () => call((data) => [...data.cells.keys()].sort()),
  load: (cell) =>
    call((data) => {
      const stored = data.cells.get(cell);
      return stored === undefined ? null : cellOf(stored);
    }),
  save: (write) =>
    call((data) => {
      const isElsewhere = data.term === write.term && data.openedBy !== server.runs && !write.overwrites;
      const result: SaveResult = isElsewhere ? { kind: 'lost' } : saveInto(data, write, journalLength);
      if (server.repliesToLose === 0) return result;
      server.repliesToLose -= 1;
      throw new Unreachable(`memory store: the reply to the save of ${write.cell} is lost`);
    }),
  drop: (cell, term) =>
    call((data) => {
      if (data.term !== term) return false;
      data.cells.delete(cell);
      return true;
    }),
  resetClaims: (provider, claims, term) =>
    call((data) => {
      if (data.term !== term) return false;
      data.claims.set(provider, claimsOf(claims.filter((claim) => claim.provider === provider)));
      return true;
    }),
  fence: (cell, actor, invokeId) =>
    call((data) => ({
      commandId: waitingOf(data.cells.get(cell), actor, invokeId),
      term: data.term,
      isElsewhere: data.term !== null && data.openedBy !== server.runs,
    })),
  journal: (cell, limit) =>
    call((data) =>
      (data.cells.get(cell)?.journal ?? [])
        .slice(-limit)
        .reverse()
        .map((entry) => JSON.parse(entry)),
    ),
  isFleeting: () => fleeting,
  close: async () => undefined,
});

const waitingOf = (cell: CellData | undefined, actor: ActorId, invokeId: string): string | null =>
  cell?.records.get(actor)?.waiting[invokeId] ?? null;

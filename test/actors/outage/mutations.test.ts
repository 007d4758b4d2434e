import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test, vi } from 'vitest';
import type { JobQueue } from '../../../actors/ports/queues.ts';
import type { ActorRecord, Json } from '../../../actors/ports/records.ts';
import { firewallBegin } from '../../../actors/runtime/shared-state.ts';
import type { World } from '../../support/world.ts';
import { FIREWALLS } from './firewalls.ts';
import { GONE } from './gone.ts';
import { RETURNS } from './returns.ts';
import { tell } from './telling.ts';
import { REPLICAS } from './without.ts';

const STORIES = [...REPLICAS, ...RETURNS, ...GONE, ...FIREWALLS];

/** What is broken. */
type Defect =
  | 'assigns are not shown before they are sent'
  | 'nothing is held back'
  | 'no new term on the way in'
  | 'no new term on the way out'
  | 'what is in memory is not written over what Redis has'
  | 'whatever is waited for, each job is taken for that'
  | 'nobody waits for what others may still send'
  | 'who rebuilds in memory does not wait for what others may still send'
  | 'records that are older than what is shown are taken for true'
  | 'of records that are older than what is shown nothing is kept'
  | 'a node to which an assign may be under way is free for others'
  | 'nothing is looked at before an assign'
  | 'a leader without Redis never makes room'
  | 'a replica without Redis takes the Lease at once'
  | 'who leads no more stays in its memory'
  | 'what has ended since stays in Redis'
  | 'what is to be ended is dropped with the rest'
  | 'only what the leader in memory does itself may still be done to a firewall'
  | 'what was done to a firewall is over once its records are out of date'
  | 'what was added to a firewall is forgotten with records that are out of date'
  | 'what only Redis tells of a firewall is written over by who began without it';

const now = vi.hoisted(() => ({ defect: null as string | null, lowered: false }));
const has = vi.hoisted(
  () =>
    (defect: Defect): boolean =>
      now.defect === defect,
);

vi.mock(import('../../../actors/runtime/outage.ts'), async (load) => {
  const real = await load();
  class Outage extends real.Outage {
    constructor(...given: ConstructorParameters<typeof real.Outage>) {
      super(...given);
      const { isHeld } = this;
      this.isHeld = (job) => !has('nothing is held back') && isHeld(job);
    }
    override get settledAt(): number {
      return has('nobody waits for what others may still send') ? Number.NEGATIVE_INFINITY : super.settledAt;
    }
    override termWritten(known: boolean): void {
      if (known || !has('who rebuilds in memory does not wait for what others may still send')) super.termWritten(known);
    }
    override unfitToLead(): string | null {
      return has('a leader without Redis never makes room') ? null : super.unfitToLead();
    }
    override unfitToTake(knows: boolean): string | null {
      return has('a replica without Redis takes the Lease at once') ? null : super.unfitToTake(knows);
    }
    override leave(): void {
      if (!has('who leads no more stays in its memory')) super.leave();
    }
    override goAway(): void {
      super.goAway();
      now.lowered = has('no new term on the way in');
    }
    override comeBack(): void {
      now.lowered = has('no new term on the way out');
      super.comeBack();
    }
  }
  return { ...real, Outage };
});

vi.mock(import('../../../actors/jobs/worker-pool.ts'), async (load) => {
  const real = await load();
  class Workers extends real.Workers {
    constructor(ports: ConstructorParameters<typeof real.Workers>[0]) {
      super(has('nothing is looked at before an assign') && ports.outage ? { ...ports, outage: careless(ports.outage) } : ports);
    }
  }
  return { ...real, Workers };
});

vi.mock(import('../../../actors/leadership/recovery.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    writeMemory: (memory, ports, term, unread) => {
      if (has('what is in memory is not written over what Redis has') && !ports.store.isFleeting?.()) return real.loadCells(ports, term);
      const store = has('what has ended since stays in Redis') ? { ...ports.store, cells: () => Promise.resolve([]) } : ports.store;
      return real.writeMemory(memory, { ...ports, store }, term, unread);
    },
    rebuildCells: async (ports, term) => {
      if (!has('records that are older than what is shown are taken for true')) await real.rebuildCells(ports, term);
    },
  };
});

vi.mock(import('../../../actors/leadership/restored-pool.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    rebuilt: (cell, records, term, ports) =>
      has('what is to be ended is dropped with the rest') && !ports.pools.all.has(cell) ? null : real.rebuilt(cell, records, term, ports),
  };
});

vi.mock(import('../../../actors/leadership/in-doubt.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    withUnheard: (cells, ...given) =>
      has('only what the leader in memory does itself may still be done to a firewall') ? cells : real.withUnheard(cells, ...given),
    alsoOwned: (record, kept) =>
      has('what only Redis tells of a firewall is written over by who began without it') ? record : real.alsoOwned(record, kept),
    rebuiltFirewall: (id, record, ports, memory) => {
      const left = real.rebuiltFirewall(id, record, ports, memory);
      if (!left || !record) return left;
      const { doubt: _, ...settled } = left.snapshot.context as { readonly [field: string]: Json };
      if (has('what was done to a firewall is over once its records are out of date')) return recordOf(left, settled, 'Idle');
      const shown = firewallBegin(id, ports.pools.all).owned as unknown as Json;
      if (has('what was added to a firewall is forgotten with records that are out of date'))
        return recordOf(left, { ...(left.snapshot.context as object), owned: shown }, left.snapshot.value);
      return left;
    },
  };
});

const recordOf = (record: ActorRecord, context: object, value: unknown): ActorRecord => ({
  ...record,
  snapshot: { value, context } as ActorRecord['snapshot'],
});

vi.mock(import('../../../machines/status/restore-pool.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    rememberedPool: (...given) => {
      const told = real.rememberedPool(...given);
      if (!has('a node to which an assign may be under way is free for others')) return told;
      const addresses = Object.entries(told.addresses).map(([address, { toward: _, ...rest }]) => [address, rest]);
      return { ...told, addresses: Object.fromEntries(addresses) };
    },
    withDoubts: (told, ...given) =>
      has('of records that are older than what is shown nothing is kept') ? told : real.withDoubts(told, ...given),
  };
});

/** The job that runs, where one does. */
const running = vi.hoisted(() => ({ job: null as AsyncLocalStorage<{ commandId: string; term: number }> | null }));

vi.mock(import('../../../actors/runtime/store-failover.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    switching: (usual, inMemory) => {
      const away = real.switching(usual, inMemory);
      if (!has('whatever is waited for, each job is taken for that')) return away;
      const job = new AsyncLocalStorage<{ commandId: string; term: number }>();
      running.job = job;
      const noting = (queue: JobQueue): JobQueue => ({
        ...queue,
        consume: (run, concurrency) => queue.consume((active) => job.run(active.data as never, () => run(active)), concurrency),
      });
      const fence: typeof away.store.fence = async (...given) => {
        await away.store.fence(...given);
        return { commandId: job.getStore()?.commandId ?? null, term: job.getStore()?.term ?? null, isElsewhere: false };
      };
      return { ...away, store: { ...away.store, fence }, queues: { ...away.queues, queue: (name) => noting(away.queues.queue(name)) } };
    },
  };
});

const careless = <T extends { readonly isAway: boolean; readonly isHeld: (job: string) => boolean; readonly settledAt: number }>(
  outage: T,
): T => ({
  ...outage,
  isAway: false,
  isHeld: outage.isHeld,
  get settledAt() {
    return outage.settledAt;
  },
});

/** The term that is opened next is not seen on the Lease, which bears the one before still. */
function spoilTerms(world: World): void {
  const { contender } = world.lease;
  vi.spyOn(world.lease, 'contender').mockImplementation((name) => {
    const real = contender(name);
    return {
      ...real,
      seenTerm: () => (running.job?.getStore() ? 0 : real.seenTerm()),
      writeTerm: async (term, server) => {
        const isLowered = now.lowered;
        now.lowered = false;
        await real.writeTerm(isLowered ? term - 1 : term, server);
      },
    };
  });
}

const spoilStatus = (world: World): void => {
  const { process } = world.cluster;
  vi.spyOn(world.cluster, 'process').mockImplementation(() => ({ ...process(), written: () => Promise.resolve() }));
};

/** Why the story does not end well with the defect; null when it does all the same. */
async function harm(name: string, defect: Defect | null): Promise<string | null> {
  const story = STORIES.find((each) => each.name === name);
  if (!story) throw new Error(`there is no story ${name}`);
  now.defect = defect;
  try {
    await tell(story, (world) => {
      spoilTerms(world);
      if (has('assigns are not shown before they are sent')) spoilStatus(world);
    });
    return null;
  } catch (error) {
    return String(error);
  } finally {
    vi.restoreAllMocks();
    now.defect = null;
    now.lowered = false;
    running.job = null;
  }
}

/** For each defect the stories that bring it to light. */
const BY: Readonly<Record<Defect, readonly string[]>> = {
  'assigns are not shown before they are sent': ['the leader ends with an assign on its way, and Redis is back with what it had before'],
  'nothing is held back': [
    'nothing is created without Redis, not even by one process after the other',
    'an address is given back, and what was opened for it closed, only when Redis is back',
  ],
  'no new term on the way in': ['a job of the term before is not sent by a replica that still has Redis'],
  'no new term on the way out': [
    'each time that Redis goes or returns what is decided from then on bears a term of its own, which everybody sees',
  ],
  'what is in memory is not written over what Redis has': [
    'Redis returns while an assign of unknown outcome is on its way, and its node fails',
  ],
  'what has ended since stays in Redis': ['of a pool that was deleted meanwhile nothing is left in Redis'],
  'what is to be ended is dropped with the rest': [
    'no node bears the addresses of a pool that was deleted when its leader had ended, with Redis back',
    'no node bears the addresses of a pool that was deleted when its leader had ended, with Redis back after another one leads',
  ],
  'whatever is waited for, each job is taken for that': ['a job of the term before is not sent by a replica that still has Redis'],
  'nobody waits for what others may still send': [
    'an assign in doubt is not sent as long as a replica that sees no Lease may send it',
    'a port that a replica without a view of the Lease may still close does not count as open',
  ],
  'who rebuilds in memory does not wait for what others may still send': [
    'whoever rebuilds without Redis waits for what others may have had of it',
  ],
  'records that are older than what is shown are taken for true': [
    'who takes over from a leader in memory sends nothing while an assign of that one may be on its way',
    'the leader ends with an assign on its way, and Redis is back with what it had before',
  ],
  'of records that are older than what is shown nothing is kept': [
    'who takes over from a leader that has shown nothing yet finds in Redis which assign of before may be on its way',
  ],
  'a node to which an assign may be under way is free for others': [
    'a node to which an address is under way is given to no other by whoever comes next',
  ],
  'nothing is looked at before an assign': ['an address is looked at before it is sent elsewhere'],
  'a leader without Redis never makes room': [
    'a leader without Redis makes room for a replica that has it, which goes by what was decided meanwhile',
  ],
  'a replica without Redis takes the Lease at once': ['a replica without Redis leaves the Lease to one that has it, whoever looks first'],
  'only what the leader in memory does itself may still be done to a firewall': [
    'a port that a replica without a view of the Lease may still close does not count as open',
    'a port that a replica without a view of the Lease may still open is closed only after that, with Redis back',
  ],
  'what was done to a firewall is over once its records are out of date': [
    'who takes over from a leader in memory opens nothing on the word of a firewall in which something may still be closed',
  ],
  'what was added to a firewall is forgotten with records that are out of date': [
    'who takes over from a leader in memory finds in Redis what was opened and not shown, and closes it in the end',
  ],
  'what only Redis tells of a firewall is written over by who began without it': [
    'who began without Redis finds there, once it is back, what was opened and not shown, and closes it in the end',
  ],
  'who leads no more stays in its memory': ['a job of the next leader is not lost on a former one that gets Redis back'],
};

describe.each(Object.keys(BY) as Defect[])('it comes to light that %s', (defect) => {
  test.each(BY[defect])('when %s', async (name) => {
    expect(await harm(name, null)).toBeNull();
    expect(await harm(name, defect)).not.toBeNull();
  });
});

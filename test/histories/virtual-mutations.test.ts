import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ProviderError } from '../../actors/errors.ts';
import { done } from '../../actors/jobs/body.ts';
import { migrationJobBodies } from '../../actors/jobs/migration.ts';
import type { MigrationWriter } from '../../actors/ports/migration.ts';
import type { Address } from '../../machines/types.ts';
import { cloneName } from '../../machines/virtual-ip.ts';
import { STATES } from '../../machines/virtual-ip-stage.ts';
import { shareOf } from '../support/extent.ts';
import type { VirtualRule } from '../support/virtual-rules.ts';
import type { World } from '../support/world.ts';
import { VirtualPlay } from './virtual-play.ts';
import type { VirtualHappening, VirtualHistory } from './virtual-steps.ts';

afterEach(() => void vi.restoreAllMocks());

/** Two VirtualIPs, each of a Service of its own; the third one is not there. */
const CALM: VirtualHistory = {
  vips: [
    { service: 0, address: null, isThere: true },
    { service: 1, address: null, isThere: true },
    { service: 0, address: null, isThere: false },
  ],
  group: true,
  wipesIngress: true,
  callMs: [10, 10],
  watchMs: [20, 20],
  seed: 1,
  steps: [],
};
/** Both serve by then. */
const then = (what: VirtualHappening): VirtualHistory => ({ ...CALM, steps: [{ afterMs: 20_000, what }] });
const migrated = then({ kind: 'migrate', vip: 0 });
const removed = then({ kind: 'remove', vip: 0 });

const FIRST = '1.1.2.2';
const SECOND = '1.1.2.3';
const { reassociateIP, handOverIP, convertService, exposeService, assignIngress, releaseVirtualIP } = migrationJobBodies;

interface VirtualMutation {
  readonly mutation: string;
  readonly history: VirtualHistory;
  readonly sabotage: (world: World) => void;
}

/** Every process finds what writes to the cluster changed so. */
const inWriter =
  (change: (writer: MigrationWriter) => Partial<MigrationWriter>) =>
  ({ vips }: World): void => {
    if (!vips) throw new Error('no Services are served here');
    const { process } = vips.virtualIPs;
    vi.spyOn(vips.virtualIPs, 'process').mockImplementation((options) => {
      const one = process(options);
      return { ...one, writer: { ...one.writer, ...change(one.writer) } };
    });
  };

const refused = async (): Promise<never> => {
  throw new ProviderError('Unavailable', 'not today');
};

/** For each rule of every moment defects that it must catch: one for each way in which it looks. */
const MUTATIONS: Readonly<Record<VirtualRule, readonly [VirtualMutation, ...VirtualMutation[]]>> = {
  'an address is served for one': [
    {
      mutation: 'all copies get one address',
      history: CALM,
      sabotage: () =>
        vi
          .spyOn(migrationJobBodies, 'exposeService')
          .mockImplementation((context) => exposeService({ ...context, input: { ...context.input, address: FIRST } })),
    },
    {
      mutation: 'a Service gets the address of another one',
      history: migrated,
      sabotage: () =>
        vi
          .spyOn(migrationJobBodies, 'assignIngress')
          .mockImplementation((context) => assignIngress({ ...context, input: { ...context.input, address: SECOND } })),
    },
  ],
  'who serves goes on serving': [
    {
      mutation: 'cleaning up takes the copy away',
      history: migrated,
      sabotage: () =>
        vi.spyOn(migrationJobBodies, 'handOverIP').mockImplementation(async (context) => {
          const { writer, fence, input } = context;
          const clone = await writer.service({ namespace: input.vip.namespace, name: cloneName(input.vip) });
          if (clone) await writer.deleteClone(clone, fence);
          return handOverIP(context);
        }),
    },
  ],
  'what serves is reserved': [
    {
      mutation: 'an IP is freed before the Service has one',
      history: migrated,
      sabotage: () =>
        vi.spyOn(migrationJobBodies, 'reassociateIP').mockImplementation(async (context) => {
          const ip = await context.writer.ip(context.input.address as Address);
          if (ip) await context.writer.free(ip, context.fence);
          return reassociateIP(context);
        }),
    },
  ],
  'an address goes from a VirtualIP to its Service alone': [
    {
      mutation: 'the IP is given to another Service',
      history: migrated,
      sabotage: () =>
        vi
          .spyOn(migrationJobBodies, 'reassociateIP')
          .mockImplementation((context) => reassociateIP({ ...context, input: { ...context.input, service: 'web1' } })),
    },
  ],
  'a stage is followed by no earlier one': [
    {
      mutation: 'whoever is behind says so',
      history: migrated,
      sabotage: () =>
        vi.spyOn(migrationJobBodies, 'convertService').mockImplementation(async (context) => {
          const live = await context.writer.virtualIP(context.input.vip);
          if (live) await context.writer.report(live, { state: STATES.preparing }, context.fence);
          return convertService(context);
        }),
    },
  ],
  'said to be migrated when it is': [
    {
      mutation: 'it is not looked whether the copy is gone',
      history: migrated,
      sabotage: () => vi.spyOn(migrationJobBodies, 'removeClone').mockImplementation(async () => done({})),
    },
  ],
};

/** What is asked when a history is over, by words of the answer, with a defect that leads to it. */
const END_MUTATIONS: Readonly<Record<string, VirtualMutation>> = {
  'v0 says Migrating: reassociating IP object': {
    mutation: 'an IP cannot be given to its Service',
    history: migrated,
    sabotage: () => vi.spyOn(migrationJobBodies, 'reassociateIP').mockImplementation(refused),
  },
  'and is being deleted still': {
    mutation: 'nothing can be released',
    history: removed,
    sabotage: () => vi.spyOn(migrationJobBodies, 'releaseVirtualIP').mockImplementation(refused),
  },
  'and bears service.finalizers': {
    mutation: 'the finalizer of the copy stays',
    history: migrated,
    sabotage: inWriter(({ letGo }) => ({ letGo: async (ref, hold, fence) => (hold === 'clone' ? undefined : letGo(ref, hold, fence)) })),
  },
  'and has a copy still': {
    mutation: 'a copy is not deleted',
    history: migrated,
    sabotage: inWriter(() => ({ deleteClone: async () => undefined })),
  },
  'v0-keepalived-clone is left': {
    mutation: 'a copy outlives its VirtualIP',
    history: removed,
    sabotage: inWriter(() => ({ deleteClone: async () => undefined })),
  },
  '1.1.2.2 is left of v0': {
    mutation: 'an IP outlives its VirtualIP',
    history: removed,
    sabotage: () =>
      vi
        .spyOn(migrationJobBodies, 'releaseVirtualIP')
        .mockImplementation((context) => releaseVirtualIP({ ...context, input: { ...context.input, address: null } })),
  },
  'web0 says that v0 is being migrated to it, which is Migrated': {
    mutation: 'the claim of a migration that is over stays',
    history: migrated,
    sabotage: inWriter(() => ({ settle: async () => undefined })),
  },
  'v0 says Error': {
    mutation: 'no copy can be made',
    history: CALM,
    sabotage: () => vi.spyOn(migrationJobBodies, 'exposeService').mockImplementation(refused),
  },
  'the copy of v0 has 1.1.2.9, not 1.1.2.2': {
    mutation: 'a copy gets another address than is reserved',
    history: CALM,
    sabotage: () =>
      vi
        .spyOn(migrationJobBodies, 'exposeService')
        .mockImplementation((context) => exposeService({ ...context, input: { ...context.input, address: '1.1.2.9' } })),
  },
  'report of default/v0 at rest, again and again': {
    mutation: 'what is shown is never what is to be shown',
    history: CALM,
    sabotage: inWriter(({ report }) => ({
      report: (read, status, fence) => report(read, { ...status, gsm: `${read.status.gsm}.` }, fence),
    })),
  },
};

interface Outcome {
  readonly broken: readonly string[];
  readonly end: readonly string[];
}

async function played({ history, sabotage }: VirtualMutation, isMutated: boolean): Promise<Outcome> {
  const play = new VirtualPlay(history);
  if (isMutated) sabotage(play.world);
  const end = await play.run(200_000).then(
    () => [],
    (error: Error) => [error.message],
  );
  return { broken: play.violations().map(({ rule }) => rule), end };
}

const SOUND: Outcome = { broken: [], end: [] };

describe('each rule of every moment of VirtualIPs', () => {
  test('has a defect that it must catch', () => {
    const source = readFileSync(join(import.meta.dirname, '../support/virtual-rules.ts'), 'utf8');
    const noted = [...source.matchAll(/#note\(\s*'(?<rule>[^']+)'/g)].map(({ groups }) => groups?.rule);
    expect(noted.length).toBeGreaterThan(0);
    expect(Object.keys(MUTATIONS).sort()).toEqual([...new Set(noted)].sort());
  });

  const rows = Object.entries(MUTATIONS).flatMap(([rule, all]) =>
    all.map((mutated): [string, string, VirtualMutation] => [rule, mutated.mutation, mutated]),
  );
  test.each(shareOf(rows, 3))('%s — catches: %s', async (rule, _, mutated) => {
    expect(await played(mutated, false)).toEqual(SOUND);
    expect((await played(mutated, true)).broken).toContain(rule);
  });
});

describe('what is asked when a history of VirtualIPs is over', () => {
  const rows = Object.entries(END_MUTATIONS).map(([words, mutated]): [string, string, VirtualMutation] => [
    words,
    mutated.mutation,
    mutated,
  ]);
  test.each(shareOf(rows, 3))('%s — catches: %s', async (words, _, mutated) => {
    expect(await played(mutated, false)).toEqual(SOUND);
    expect((await played(mutated, true)).end.join('; ')).toContain(words);
  });
});

import { vi } from 'vitest';
import { done } from '../../../actors/jobs/job.ts';
import { migrationJobBodies } from '../../../actors/jobs/migration.ts';
import { vipJobBodies } from '../../../actors/jobs/vip.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { MigrationWriter } from '../../../actors/ports/migration.ts';
import type { VirtualIPContext } from '../../../machines/migration/decisions.ts';
import { STATES } from '../../../machines/migration/phase.ts';
import type { Address } from '../../../machines/model/types.ts';
import { cloneName } from '../../../machines/vip/virtualip.ts';
import { guard } from '../../machines/mutations-spoil.ts';
import type { VirtualRule } from '../../support/virtual-rules.ts';
import type { ShortVirtualIPHappening as VirtualHappening, ShortVirtualIPs as VirtualHistory } from '../short.ts';
import type { SimulationWorld as World } from '../world.ts';
import type { Mutation, Mutations } from './mutation.ts';
import { inChart } from './pools.ts';

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
const SECOND = '1.1.2.3' as Address;
const { reassociateIP, handOverIP, convertService, exposeService, assignIngress, releaseVirtualIP } = migrationJobBodies;

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
export const VIRTUAL_MUTATIONS: Mutations<VirtualRule, VirtualHistory> = {
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
        vi.spyOn(migrationJobBodies, 'assignIngress').mockImplementation(async (context) => {
          const { writer, fence, input } = context;
          const service = await writer.service({ namespace: input.vip.namespace, name: input.service });
          if (service) await writer.setIngress(service, SECOND, fence);
          return assignIngress(context);
        }),
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
export const VIRTUAL_END_MUTATIONS: Readonly<Record<string, Mutation<VirtualHistory>>> = {
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
    mutation: 'a copy is not deleted, and is not looked for any more',
    history: migrated,
    sabotage: inWriter(({ service }) => {
      const deleted = new Set<string>();
      return {
        deleteClone: async ({ name }) => void deleted.add(name),
        service: async (ref) => (deleted.has(ref.name) ? null : service(ref)),
      };
    }),
  },
  'v0 says Migrated, VirtualIP has been migrated to web0, not web1': {
    mutation: 'whoever is asked at once goes by the Service that was served before',
    history: {
      ...CALM,
      steps: [
        { afterMs: 20_000, what: { kind: 'point', vip: 0, service: 1 } },
        { afterMs: 0, what: { kind: 'migrate', vip: 0 } },
      ],
    },
    spoil: inChart(
      'virtual-ip',
      guard<VirtualIPContext>('exposesOther', ({ asked, wanted, service }) => !asked && wanted.service !== service),
    ),
  },
  'v0-keepalived-clone is left': {
    mutation: 'a copy that names another owner outlives its VirtualIP',
    history: removed,
    sabotage: (world) =>
      inWriter(({ createClone }) => ({
        createClone: (clone, fence) => {
          const uid = world.vips?.virtualIPs.find('v1')?.ref.uid ?? '';
          return createClone({ ...clone, owner: { ...clone.owner, uid } }, fence);
        },
        deleteClone: async () => undefined,
      }))(world),
  },
  '1.1.2.2 is left of v0': {
    mutation: 'an IP outlives its VirtualIP, and nobody frees it afterwards',
    history: removed,
    sabotage: () => {
      vi.spyOn(vipJobBodies, 'releaseVip').mockImplementation(refused);
      vi.spyOn(migrationJobBodies, 'releaseVirtualIP').mockImplementation((context) =>
        releaseVirtualIP({
          ...context,
          input: { ...context.input, address: null },
          writer: { ...context.writer, ips: async () => [] },
        }),
      );
    },
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
      // Before it serves, jobs of its own would find it changed again and again.
      report: (read, status, fence) =>
        report(read, read.status.state === 'Valid' ? { ...status, gsm: `${read.status.gsm}.` } : status, fence),
    })),
  },
};

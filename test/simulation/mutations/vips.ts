import { vi } from 'vitest';
import { vipJobBodies } from '../../../actors/jobs/vip.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { VipWriter } from '../../../actors/ports/vip.ts';
import type { MemoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import type { Address } from '../../../machines/model/types.ts';
import type { VipRule } from '../../support/vip-rules.ts';
import type { ShortVips as VipHistory } from '../short.ts';
import type { SimulationWorld as World } from '../world.ts';
import type { Mutation } from './mutation.ts';

type VipStep = VipHistory['steps'][number];

const CALM: VipHistory = {
  services: 2,
  groups: [0, null],
  wipesIngress: false,
  callMs: [10, 10],
  watchMs: [20, 20],
  seed: 1,
  steps: [],
};
const steps = (...what: readonly VipStep['what'][]): readonly VipStep[] => what.map((each) => ({ afterMs: 2_000, what: each }));

/** What is told comes half a second late. */
const LATE: VipHistory = { ...CALM, watchMs: [500, 500] };
/** Somebody reserves the address for nobody at the very moment at which what was done before is told: he is heard of half a second later. */
const TAKEN: VipStep = { afterMs: 505, what: { kind: 'reserve', address: 0, service: null, isOld: false } };

const other = '10.0.0.3' as Address;
const { reserveVip, publishVip, releaseVip } = vipJobBodies;

/** Every process finds what writes to the cluster changed so; `cluster` is written without a look at what stands there. */
const inWriter =
  (change: (writer: VipWriter, cluster: MemoryVipCluster) => Partial<VipWriter>) =>
  ({ vips }: World): void => {
    if (!vips) throw new Error('no Services are served here');
    const { process } = vips;
    vi.spyOn(vips, 'process').mockImplementation((options) => {
      const one = process(options);
      return { ...one, ...change(one, vips) };
    });
  };

/** For each rule of every moment a defect that it must catch, and a history in which it does. */
export const VIP_MUTATIONS: Readonly<Record<VipRule, Mutation<VipHistory>>> = {
  'an IP has one owner': {
    mutation: 'whoever is late takes over what another one has reserved',
    history: { ...LATE, services: 0, steps: [{ afterMs: 2_000, what: { kind: 'create', service: 0 } }, TAKEN] },
    sabotage: inWriter(({ reserve }, cluster) => ({
      reserve: (address, group, service, fence) =>
        reserve(address, group, service, fence).catch((error: unknown) => {
          if (!(error instanceof ProviderError && error.kind === 'Conflict')) throw error;
          return cluster.setIP({ name: address, group, owner: service });
        }),
    })),
  },
  'freed is what is ours': {
    mutation: 'an IP is freed by its name alone',
    history: { ...LATE, services: 1, steps: [{ afterMs: 2_000, what: { kind: 'type', service: 0, type: 'ClusterIP' } }, TAKEN] },
    sabotage: inWriter((_, cluster) => ({ free: async ({ name }) => cluster.removeIP(name) })),
  },
  'reserved is for a guarded Service': {
    mutation: 'an address is reserved before our finalizer is there',
    history: CALM,
    sabotage: () =>
      vi.spyOn(vipJobBodies, 'reserveVip').mockImplementation(async (context) => {
        const { address, group, service } = context.input;
        await context.vips.reserve(address, group, service, context.fence);
        return reserveVip(context);
      }),
  },
  'reserved is what was asked for': {
    mutation: 'one that asks for an address gets the next one',
    history: {
      ...CALM,
      services: 1,
      steps: [
        ...steps({ kind: 'type', service: 0, type: 'ClusterIP' }, { kind: 'ask', service: 0, address: 0 }),
        { afterMs: 130_000, what: { kind: 'type', service: 0, type: 'LoadBalancer' } },
      ],
    },
    sabotage: () =>
      vi
        .spyOn(vipJobBodies, 'reserveVip')
        .mockImplementation((context) => reserveVip({ ...context, input: { ...context.input, address: '10.0.0.2' as Address } })),
  },
  'published is what is reserved': {
    mutation: 'another address is published than was reserved',
    history: { ...CALM, services: 1 },
    sabotage: () =>
      vi
        .spyOn(vipJobBodies, 'publishVip')
        .mockImplementation((context) => publishVip({ ...context, input: { ...context.input, address: other } })),
  },
  'an address is listed once': {
    mutation: 'all Services list one address',
    history: CALM,
    sabotage: () =>
      vi
        .spyOn(vipJobBodies, 'publishVip')
        .mockImplementation((context) => publishVip({ ...context, input: { ...context.input, address: other } })),
  },
  'freed is what nobody lists': {
    mutation: 'an IP goes before its Service lists it no more',
    history: { ...CALM, steps: steps({ kind: 'type', service: 0, type: 'ClusterIP' }) },
    sabotage: () =>
      vi.spyOn(vipJobBodies, 'releaseVip').mockImplementation(async (context) => {
        for (const ip of context.input.ips) await context.vips.free(ip, context.fence);
        return releaseVip(context);
      }),
  },
};

import { afterEach, describe, expect, test, vi } from 'vitest';
import { vipJobBodies } from '../../actors/jobs/vip.ts';
import type { Address } from '../../machines/types.ts';
import type { VipRule } from '../support/vip-rules.ts';
import { VipPlay } from './vip-play.ts';
import type { VipHistory, VipStep } from './vip-steps.ts';

afterEach(() => void vi.restoreAllMocks());

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

const other = '10.0.0.3' as Address;
const { reserveVip, publishVip, releaseVip } = vipJobBodies;

/** For each rule of every moment a defect that it must catch, and a history in which it does. */
const MUTATIONS: Readonly<Partial<Record<VipRule, { mutation: string; history: VipHistory; sabotage: () => void }>>> = {
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

const played = async (history: VipHistory): Promise<readonly string[]> => {
  const play = new VipPlay(history);
  await play.run(5_000).catch(() => undefined);
  return play.rules.violations.map(({ rule }) => rule);
};

describe('each rule of every moment of Services', () => {
  test.each(Object.entries(MUTATIONS))('%s — is broken when a defect is put in', async (rule, { history, sabotage }) => {
    expect(await played(history)).toEqual([]);
    sabotage();
    expect(await played(history)).toContain(rule);
  });
});

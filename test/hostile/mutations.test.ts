import { afterEach, describe, expect, test, vi } from 'vitest';
import { Claims } from '../../actors/controllers/claims.ts';
import { OperatorCredentials } from '../../actors/controllers/operator-credentials.ts';
import type { Chart, Charts } from '../../actors/runtime/charts.ts';
import type { Ready } from '../../machines/events.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import * as members from '../../machines/pool/members.ts';
import * as allowedPorts from '../../machines/spec/allowed-ports.ts';
import { action } from '../machines/mutations-spoil.ts';
import { seedOf } from '../simulation/generate.ts';
import { hostileOfSeed } from './histories.ts';
import { brokenByAttack } from './twin.ts';

/** A check of the product that is left out, what says so, and the number from which on histories are played until one does. */
interface Mutation {
  readonly mutation: string;
  readonly says: RegExp;
  readonly first: number;
  readonly sabotage?: () => void;
  readonly spoil?: (charts: Charts) => Charts;
}

const SEED = 1;
/** So many are played at most. */
const MOST = 12;

const fromAnywhere = action<PoolContext, Ready>('noteReady', (context, event) => members.onReady(context, { ...event, adopts: 'Free' }));

const MUTATIONS: readonly Mutation[] = [
  {
    mutation: 'the oldest object has what several ask for, whoever has had it before',
    says: /^(whoever has an address keeps it|an attack)/,
    first: 5,
    sabotage: () => void vi.spyOn(Claims.prototype, 'standingOf').mockReturnValue('Asks'),
  },
  {
    mutation: 'an object that is not valid may gain what it names',
    says: /^(an attack|in the end)/,
    first: 5,
    sabotage: () => {
      const { standingOf } = Claims.prototype;
      vi.spyOn(Claims.prototype, 'standingOf').mockImplementation(function standing(this: Claims, ...of) {
        const is = standingOf.apply(this, of);
        return is === 'Barred' ? 'Holds' : is;
      });
    },
  },
  {
    mutation: 'an issuer without a Secret works with the credentials of the operator',
    says: /^gets nothing by credentials that are not his/,
    first: 10,
    sabotage: () => void vi.spyOn(OperatorCredentials.prototype, 'refusalOf').mockReturnValue(null),
  },
  {
    mutation: 'every port may be opened',
    says: /^opens no port of the node/,
    first: 16,
    sabotage: () => void vi.spyOn(allowedPorts, 'permission').mockReturnValue('Allowed'),
  },
  {
    mutation: 'an address is taken off a machine outside of the cluster',
    says: /^takes nothing off machines outside of the cluster/,
    first: 1,
    spoil: (charts) => ({ ...charts, pool: fromAnywhere(charts.pool as Chart) }),
  },
];

afterEach(() => void vi.restoreAllMocks());

describe('a check that is left out is found by an attack', () => {
  test.each(MUTATIONS.map((each) => [each.mutation, each] as const))(
    '%s',
    async (_, { says, first, sabotage, spoil }) => {
      sabotage?.();
      const found: string[] = [];
      for (let number = first; number < first + MOST && !found.some((text) => says.test(text)); number += 1) {
        const broken = await brokenByAttack(hostileOfSeed(seedOf(SEED, number)), spoil ? { spoil } : {});
        found.push(...broken);
      }
      expect(found.join('\n')).toMatch(new RegExp(says.source, 'm'));
    },
    300_000,
  );
});

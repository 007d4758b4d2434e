import { expect, test } from 'vitest';
import { leftClaims } from '../../../actors/leadership/stale-claims.ts';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { ActorRecord } from '../../../actors/ports/records.ts';

const FIREWALL = 'firewall/digitalocean/edge';
const POOL = 'rip/web/shop';
const [A, B] = ['203.0.113.1', '203.0.113.2'];

const cell = (contexts: Readonly<Record<string, unknown>>) => ({
  records: new Map(Object.entries(contexts).map(([actor, context]) => [actor, { snapshot: { context } } as unknown as ActorRecord])),
});
const pool = (uid: string, remembered: object = {}) => ({ [POOL]: { ref: { uid }, remembered } });
const object = (uid: string, routedIP?: string): PoolObject => ({
  ref: { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid },
  generation: 1,
  createdAt: 0,
  deleting: false,
  spec: {},
  status: routedIP ? { routedIP } : null,
});
const undone = { ...object('1', A), deleting: true, marks: { finalizers: ['example.com/other'], annotations: {} } };

test.for([
  { what: 'whose actor is there', given: cell({ ...pool('1'), [`${POOL}/ip/${A}`]: {} }), seen: object('1'), left: [] },
  { what: 'that its RoutedIP is to start', given: cell(pool('1', { [A]: {} })), seen: object('1', A), left: [] },
  { what: 'that another one of the name is to start', given: cell(pool('1')), seen: object('2', A), left: [] },
  { what: 'of one that has not begun', given: cell({}), seen: object('1', A), left: [] },
  { what: 'that its RoutedIP does not start', given: cell(pool('1')), seen: object('1', A), left: [A] },
  { what: 'that was of another one of the name', given: cell({}), seen: object('2', B), left: [A] },
  { what: 'of one that was let go, and is there still', given: cell({}), seen: undone, left: [A] },
  { what: 'of which there is nothing any more', given: null, seen: null, left: [A] },
])('what is claimed for an address $what is given back: $left', ({ given, seen, left }) => {
  const firewall = cell({ [FIREWALL]: { claims: { [`${POOL}/ip/${A}`]: {} } } });
  const cells = new Map([[FIREWALL, firewall], ...(given ? [[POOL, given] as const] : [])]);
  const claims = leftClaims({ cells, objects: new Map(seen ? [[POOL, seen]] : []) });
  expect(claims.map(({ to, event }) => [to, event.claimant, event.node])).toEqual(
    left.map((each) => [FIREWALL, `${POOL}/ip/${each}`, null]),
  );
});

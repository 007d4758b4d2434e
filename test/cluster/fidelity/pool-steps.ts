import { MERGE, pool, pools, STRATEGIC, type Step, step, TABLE } from './step.ts';

/** A custom resource and the rules of its schema. */
export const POOL_STEPS: readonly Step[] = [
  step('creates a pool', 'POST', pools(), { body: pool('x', { provider: 'digitalocean', desiredIPs: 2 }) }),
  step('drops the status of a new pool', 'POST', pools(), {
    body: { ...pool('y', { provider: 'a', ips: ['192.0.2.1'] }), status: { activeIPs: 1 } },
  }),
  step('drops unknown fields of a pool', 'POST', pools(), {
    body: pool('z', { provider: 'a', desiredIPs: 1, colour: 'red', match: { tint: 1 } }),
  }),
  step('refuses a pool without a provider', 'POST', pools(), {
    body: pool('w', { desiredIPs: 1 }),
  }),
  step('refuses a wrong type', 'POST', pools(), {
    body: pool('w', { provider: 1, desiredIPs: 1 }),
  }),
  step('refuses a negative number', 'POST', pools(), { body: pool('w', { provider: 'a', ips: ['192.0.2.1'], desiredIPs: -1 }) }),
  step('refuses a fraction', 'POST', pools(), {
    body: pool('w', { provider: 'a', ips: ['192.0.2.1'], desiredIPs: 1.5 }),
  }),
  step('refuses an address twice', 'POST', pools(), { body: pool('w', { provider: 'a', ips: ['192.0.2.1', '192.0.2.1'] }) }),
  step('refuses what is no address', 'POST', pools(), {
    body: pool('w', { provider: 'a', ips: ['999.1.1.1'] }),
  }),
  step('refuses a spec that is a list', 'POST', pools(), {
    body: { ...pool('w', {}), spec: [] },
  }),
  step('refuses another kind of pool', 'POST', pools(), { body: { ...pool('w', { provider: 'a' }), kind: 'Other' } }),
  step('refuses a pool of no kind', 'POST', pools(), {
    body: { metadata: { name: 'w' }, spec: { provider: 'a', desiredIPs: 1 } },
  }),
  step('refuses an update of a pool without a resourceVersion', 'PUT', pools('/x'), { body: pool('x', { provider: 'a', desiredIPs: 2 }) }),
  step('bumps the generation of a pool', 'PATCH', pools('/x'), { type: MERGE, body: { spec: { desiredIPs: 3 } } }),
  step('changes nothing by an equal patch', 'PATCH', pools('/x'), { type: MERGE, body: { spec: { desiredIPs: 3 } } }),
  step('ignores the status in a patch of the pool', 'PATCH', pools('/x'), { type: MERGE, body: { status: { activeIPs: 1 } } }),
  step('writes the status of a pool', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: {
      status: { activeIPs: 1, ips: { '192.0.2.1': { state: 'active' } } },
      spec: { desiredIPs: 9 },
      metadata: { labels: { a: 'b' } },
    },
  }),
  step('refuses an unknown state', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: { status: { ips: { '192.0.2.1': { state: 'lost' } } } },
  }),
  step('refuses a stale status patch', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: { metadata: { resourceVersion: '1' }, status: { activeIPs: 2 } },
  }),
  step('refuses a strategic patch of a pool', 'PATCH', pools('/x'), { type: STRATEGIC, body: {} }),
  step('reads the status of a pool', 'GET', pools('/x/status')),
  step('lists pools', 'GET', pools()),
  step('prints a pool', 'GET', pools('/z'), { accept: TABLE }),
  step('deletes a pool', 'DELETE', pools('/y')),
  step('deletes the others as a collection', 'DELETE', pools()),
  step('has no pools any more', 'GET', pools()),
];

import { expect, test } from 'vitest';
import type { History } from '../simulation/history.ts';
import { brokenByAttack } from './twin.ts';

const HISTORY: History = {
  ...{ seed: 1, nodes: 3, perNode: 1, holders: [null, null], actionMs: [300, 300], callMs: [20, 20], firewallMs: [0, 0] },
  restarts: true,
  routed: {
    policies: [
      { firewall: null, postAllow: false, taint: 'None', reclaim: 'Retain', adoption: 'Any', coolOffSeconds: 0, graceSeconds: 0 },
      { firewall: null, postAllow: false, taint: 'None', reclaim: 'Retain', adoption: 'Any', coolOffSeconds: 0, graceSeconds: 0 },
    ],
    services: [],
    routed: [],
  },
  pools: [{ ips: [], extra: 0, coolOffSeconds: 0, name: null }],
  attacker: { family: 'wild', before: [] },
  steps: [
    { in: 'attacker', what: { kind: 'a RoutedIP names its address', object: 0, by: 'class', target: 0 }, afterMs: 0 },
    { in: 'attacker', what: { kind: 'a RoutedIP names its address', object: 0, by: 'class', target: 1 }, afterMs: 30_000 },
    { in: 'pools', what: { kind: 'list', pool: 0, addresses: [0] }, afterMs: 0 },
  ],
};

test('what somebody has got who attacks others is his, also once he asks for another one', async () => {
  expect(await brokenByAttack(HISTORY)).toEqual([]);
});

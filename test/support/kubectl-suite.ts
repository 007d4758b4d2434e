import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apply, applyFile, type KubeObject, objectsIn, pathOf, type Server } from './kube-apply.ts';
import { kubectl } from './kubectl.ts';
import { issuer, routedIP, routedIPClass } from './routedip-manifests.ts';

/** A server that kubectl can ask. */
export interface Reached extends Server {
  /** Path of its kubeconfig. */
  readonly kubeconfig: string;
}

const SAMPLES = join(import.meta.dirname, '../../crds/samples');
const POOL = 'floatingippool-static.yaml';
const RECORD_SET = 'nodednsrecordset.yaml';

const paas = (kind: string, name: string, spec: object): KubeObject => ({ apiVersion: 'paas.org/v1', kind, metadata: { name }, spec });
const OTHERS = [
  routedIP(),
  issuer(),
  routedIPClass(),
  paas('IPGroup', 'edge', { segment: '192.0.2.0/30', excludedIPs: [] }),
  paas('IP', '192.0.2.1', {}),
];

const ready = (status: string, reason: string, message: string) => ({
  conditions: [{ type: 'Ready', status, reason, message, lastTransitionTime: '2026-11-24T08:39:05Z' }],
});

/** Rows by the headings above them: a cell may be empty. */
const rowsOf = (printed: string): readonly Readonly<Record<string, string>>[] => {
  const [header = '', ...rows] = printed.trimEnd().split('\n');
  const columns = [...header.matchAll(/\S+/g)].map(({ 0: name, index }) => ({ name, index }));
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, index }, at) => [name, row.slice(index, columns[at + 1]?.index).trim()])),
  );
};

/** What kubectl shows of all kinds by their definitions, and by which names it finds them; `running` is called once tests run. The definitions are installed. */
export const describeKubectl = (running: () => Reached): void => {
  describe('kubectl get', () => {
    let server: Reached;

    const get = async (...args: readonly string[]): Promise<string> => {
      const { stdout, stderr, code } = await kubectl(['get', ...args], { kubeconfig: server.kubeconfig });
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const setStatus = async (file: string, status: object): Promise<void> => {
      for (const object of objectsIn(join(SAMPLES, file))) {
        const answer = await server.send(`${await pathOf(server, object)}/status`, { method: 'PATCH', body: { status } });
        expect([answer.status, answer.body.message]).toEqual([200, undefined]);
      }
    };

    beforeAll(async () => {
      server = running();
      for (const file of [POOL, RECORD_SET]) await applyFile(server, join(SAMPLES, file));
      for (const object of OTHERS) expect((await apply(server, object)).body.message).toBeUndefined();
    });

    afterAll(async () => {
      for (const object of objectsIn(join(SAMPLES, POOL))) await server.send(await pathOf(server, object), { method: 'DELETE' });
    });

    test('shows a pool in FLIPOP users’ columns, and whether it is ready', async () => {
      await setStatus(POOL, { activeIPs: 1 });
      const printed = await get('floatingippools');
      expect(
        printed
          .split('\n')[0]
          ?.trim()
          .split(/\s{2,}/),
      ).toEqual(['NAME', 'PROVIDER', 'DESIRED', 'ACTIVE', 'READY', 'REASON', 'ERROR', 'AGE']);
      // What an object says of itself before anybody has looked at it.
      const begins = { READY: 'Unknown', REASON: 'Pending' };
      expect(rowsOf(printed)).toMatchObject([{ NAME: 'ingress-pool', PROVIDER: 'digitalocean', DESIRED: '2', ACTIVE: '1', ...begins }]);
    });

    test('shows a pool in safe hold as not Ready, with the reason', async () => {
      await setStatus(POOL, {
        activeIPs: 2,
        error: '1.2.3.4 is held',
        ...ready('False', 'SafeHold', '2 of 2 are active: 1.2.3.4 is held'),
      });
      const [row] = rowsOf(await get('floatingippools'));
      expect(row).toMatchObject({ DESIRED: '2', ACTIVE: '2', READY: 'False', REASON: 'SafeHold', ERROR: '1.2.3.4 is held' });
    });

    test('shows wide the message and the addresses of a pool', async () => {
      await setStatus(POOL, ready('False', 'NoEligibleNode', 'no node is eligible for 1.2.3.4'));
      const [row] = rowsOf(await get('fip', '-o', 'wide'));
      expect(row).toMatchObject({
        REASON: 'NoEligibleNode',
        MESSAGE: 'no node is eligible for 1.2.3.4',
        ADDRESSES: '["1.2.3.4","5.6.7.8"]',
      });
    });

    test('shows whether a record set is ready, the reason, and wide the message', async () => {
      await setStatus(RECORD_SET, { state: 'error', ...ready('False', 'RecordConflict', 'the record is of another owner') });
      const [row] = rowsOf(await get('nodedns', '-o', 'wide'));
      expect(row).toMatchObject({ READY: 'False', REASON: 'RecordConflict', MESSAGE: 'the record is of another owner' });
      expect((await get('nodedns')).split('\n')[0]).toMatch(/ READY +REASON +ERROR +AGE$/);
    });

    test('lists all kinds by one category', async () => {
      const names = (await get('routedip-all', '--all-namespaces', '-o', 'name')).trim().split('\n');
      expect(names).toEqual(
        expect.arrayContaining([
          'floatingippool.flipop.digitalocean.com/ingress-pool',
          'nodednsrecordset.flipop.digitalocean.com/ingress-nodes',
          'routedip.routedip.io/wrong',
          'routedipissuer.routedip.io/wrong',
          'clusterroutedipclass.routedip.io/wrong',
          'ipgroup.paas.org/edge',
          'ip.paas.org/192.0.2.1',
        ]),
      );
    });
  });
};

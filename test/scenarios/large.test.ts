import { describe, expect, test } from 'vitest';
import { staged } from '../e2e/served.ts';

const NODES = 1_000;
const ADDRESSES = 20;
const STARTS = 6;

/** FLIPOP crashed in every fifth start with a thousand nodes and as many pods: it walked over the nodes while its caches were still being filled. */
describe(`an operator that starts in a cluster of ${NODES} matching nodes with a pod each`, () => {
  const { stage } = staged();

  test(`comes up ${STARTS} times out of ${STARTS}, without an error, and leaves every address where it is`, async () => {
    const { cloud } = stage();
    await stage().nodes(...Array.from({ length: NODES }, (_, index) => `node-${index}`));
    const ips = Array.from({ length: ADDRESSES }, () => cloud.addReservedIP({ region: 'nyc3' }).ip);
    await stage().pool('ingress', { ips });
    let former = 0;
    for (let start = 1; start <= STARTS; start += 1) {
      const operator = await stage().start();
      // The term is new with each start: what the status shows is not from before.
      await stage().until(`all addresses are active at start ${start}`, async () => {
        const { status } = (await stage().getPool('ingress')) as {
          readonly status?: { readonly activeIPs?: number; readonly term?: number };
        };
        const { activeIPs, term = 0 } = status ?? {};
        if (activeIPs !== ADDRESSES || term <= former) return false;
        former = term;
        return true;
      });
      expect([start, await operator.stop()]).toEqual([start, 0]);
      expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    }
    expect(stage().assigns().length).toBe(ADDRESSES);
  });
});

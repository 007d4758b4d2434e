import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { kubeconfigText } from '../../../simulator/kubernetes/kubeconfig.ts';
import { openStage, type Stage } from '../../e2e/stage.ts';
import { openTarget } from '../../e2e/target.ts';
import type { Operator, Program } from '../../support/operator.ts';
import { type SpoilingProxy, spoilingProxy } from './proxy.ts';
import { type StoreSpoiler, storeSpoiler } from './store.ts';

/** An operator that serves a pool, and whose peers can be made to answer with garbage. */
export interface Peers {
  readonly operator: Operator;
  readonly stage: Stage;
  readonly api: SpoilingProxy;
  readonly cloud: SpoilingProxy;
  readonly store: StoreSpoiler;
  readonly address: string;
  /** Where the operator serves its probes. */
  readonly telemetry: string;
  /** Requests that came where only a redirect leads. */
  readonly strayed: readonly string[];
  /** Resident memory, bytes: now, and the most that it ever was. */
  memory(): { readonly now: number; readonly most: number };
  close(): Promise<void>;
}

export interface PeersOptions {
  readonly seed: number;
  /** Null: the bundle that tests run. */
  readonly program: (Program & { readonly nodeFlags: readonly string[] }) | null;
}

export async function openPeers({ seed, program }: PeersOptions): Promise<Peers> {
  const target = await openTarget();
  const stage = await openStage(target);
  const strayed: string[] = [];
  const elsewhere = createServer((request, response) => {
    strayed.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const lure = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const upstream = target.simulator?.url;
  if (upstream === undefined) throw new Error('garbage comes from the simulator only');
  const api = await spoilingProxy({ upstream, elsewhere: lure, seed });
  const cloud = await spoilingProxy({ upstream: stage.cloud.url, elsewhere: lure, seed: seed + 1 });
  const store = storeSpoiler(stage.redis.url, seed + 2);
  const kubeconfig = join(stage.redis.dir, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText(api.url));
  const { ip: address } = stage.cloud.addReservedIP({ region: 'nyc3' });
  await stage.nodes('a', 'b', 'c');
  await stage.pool('ingress', { desiredIPs: 1, ips: [address] });
  const { nodeFlags = [], ...entry } = program ?? {};
  const operator = await stage.start({
    kubeconfig,
    digitaloceanUrl: cloud.url,
    // Much is asked all the time.
    flags: ['--verify-interval=1s', '--resync-interval=1s', '--leader-elect-retry-period=500ms'],
    nodeFlags,
    ...('entry' in entry && { program: entry as Program }),
  });
  await operator.ready();
  await stage.until('the address is held', () => stage.heldBy(address) !== null);
  return {
    operator,
    stage,
    api,
    cloud,
    store,
    address,
    telemetry: String(operator.log.find(({ msg }) => msg === 'serves metrics and probes')?.url),
    strayed,
    memory: () => {
      const status = readFileSync(`/proc/${operator.pid}/status`, 'utf8');
      const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1_024;
      return { now: of('VmRSS'), most: of('VmHWM') };
    },
    close: async () => {
      store.close();
      await stage.close();
      await Promise.all([api.close(), cloud.close()]);
      elsewhere.close();
      await target.close();
    },
  };
}

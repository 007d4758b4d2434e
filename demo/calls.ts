import type { Call } from '../simulator/digitalocean/call-log.ts';
import type { Cast } from './cast.ts';
import { DemoFailure } from './failure.ts';

/** The number of the newest call. */
export const lastCall = ({ stage }: Cast): number => stage.cloud.calls.all().at(-1)?.n ?? 0;
const writesSince = ({ stage }: Cast, since: number): readonly Call[] => stage.cloud.calls.select({ since, writes: true });
/** The first change since then that is wanted. */
export const callSince = (cast: Cast, since: number, wanted: (call: Call) => boolean): Call | null =>
  writesSince(cast, since).find(wanted) ?? null;

export const isCreate = ({ method, path }: Call): boolean => method === 'POST' && /^\/v2\/(reserved|floating)_ips$/.test(path);
export const isPort = ({ method, path }: Call): boolean => method === 'POST' && path.endsWith('/rules');
/** Puts a node into a firewall, or takes it out. */
export const isNode =
  ({ stage }: Cast, wanted: 'POST' | 'DELETE', node: string) =>
  ({ method, path, body }: Call): boolean => {
    const ids = (body as { droplet_ids?: readonly number[] } | null)?.droplet_ids ?? [];
    return method === wanted && path.endsWith('/droplets') && ids.includes(stage.droplets.get(node) ?? -1);
  };

/** @throws DemoFailure when DigitalOcean was asked for more or fewer changes since then */
export function expectWrites(cast: Cast, { since, count }: { readonly since: number; readonly count: number }): void {
  const writes = writesSince(cast, since);
  if (writes.length === count) return;
  const listed = writes.map(({ method, path }) => `${method} ${path}`).join(', ');
  throw new DemoFailure(`DigitalOcean was asked for ${writes.length} changes instead of ${count}: ${listed}`);
}

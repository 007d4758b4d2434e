import type { Cloud } from '../cloud.ts';
import { bringToPresent } from '../present.ts';
import { admits } from './admission.ts';

/** A port of an address, as somebody on the Internet sees it. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** The address that connections come from. */
  readonly from: string;
}

/** Where a connection ends, or why it ends nowhere. */
export type Verdict =
  | { readonly to: number }
  | { readonly refused: 'no such address' | 'address in transit' | 'address of nobody' | 'closed by firewall' };

/** What would become of a connection that is opened now. */
export function reach(cloud: Cloud, { address, port, from }: Endpoint): Verdict {
  bringToPresent(cloud);
  const held = cloud.reservedIPs.get(address);
  if (held === undefined) return { refused: 'no such address' };
  if (held.pendingActionId !== null) return { refused: 'address in transit' };
  if (held.dropletId === null) return { refused: 'address of nobody' };
  return admits(cloud, held.dropletId, port, from) ? { to: held.dropletId } : { refused: 'closed by firewall' };
}

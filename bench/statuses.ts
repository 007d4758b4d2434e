import { watch } from '../demo/follow.ts';
import { at, isObject } from '../simulator/kubernetes/objects.ts';

export interface AddressStatus {
  readonly state: string;
  readonly node: string;
  /** When a watch first showed it like this, ms since the epoch with fractions. */
  readonly since: number;
}

/** What the statuses of all pools say of their addresses, by a watch over HTTP as any user has it. */
export interface Statuses {
  of(address: string): AddressStatus | null;
  active(): readonly { readonly address: string; readonly node: string }[];
  /** Resolves with the status once the address is active on another node than `from`. */
  activeElsewhere(address: string, from: string): Promise<AddressStatus>;
  close(): void;
}

export function followStatus(apiUrl: string): Statuses {
  const known = new Map<string, AddressStatus>();
  const waiting = new Set<() => void>();
  const { close } = watch(`${apiUrl}/apis/flipop.digitalocean.com/v1alpha1/floatingippools`, (_type, pool, seenAt) => {
    const ips = at(pool, 'status', 'ips');
    for (const [address, status] of Object.entries(isObject(ips) ? ips : {})) {
      const [state, node] = [String(at(status, 'state') ?? ''), String(at(status, 'nodeName') ?? '')];
      const old = known.get(address);
      if (old?.state !== state || old.node !== node) known.set(address, { state, node, since: seenAt });
    }
    for (const look of waiting) look();
  });
  return {
    of: (address) => known.get(address) ?? null,
    active: () => [...known].filter(([, { state }]) => state === 'active').map(([address, { node }]) => ({ address, node })),
    activeElsewhere: (address, from) =>
      new Promise((resolve) => {
        const look = (): void => {
          const status = known.get(address);
          if (status?.state !== 'active' || status.node === from) return;
          waiting.delete(look);
          resolve(status);
        };
        waiting.add(look);
        look();
      }),
    close,
  };
}

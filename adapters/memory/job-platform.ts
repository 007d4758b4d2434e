import type { JobMessage, JobRequest } from '../../actors/ports/job-driver.ts';

/** The platform that Jobs work on, which only they can access. */
export class MemoryPlatform {
  /** The node of each address; null while it is unassigned. */
  readonly holders = new Map<string, string | null>();
  /** Open ports by firewall: `tcp/80 example://7`. */
  readonly open = new Map<string, ReadonlySet<string>>();
  /** Whether it reports which address was created for which RoutedIP. */
  knowsOwners = false;
  /** Whether it accepts every address, as initially unassigned, and assigns addresses it did not create. */
  takesAny = false;
  readonly #owners = new Map<string, string>();
  #made = 0;

  /** Performs the request of a Job, like a correct template. Null when the address does not exist. */
  carryOut({ action, env, request }: JobRequest): JobMessage | null {
    const {
      ROUTEDIP_ADDRESS: address = '',
      ROUTEDIP_NODE_PROVIDER_ID: node = '',
      ROUTEDIP_FIREWALL: firewall = '',
      ROUTEDIP_UID: uid = '',
    } = env;
    switch (action) {
      case 'create':
        do this.#made += 1;
        while (this.holders.has(`198.51.100.${this.#made}`));
        this.holders.set(`198.51.100.${this.#made}`, null);
        this.#owners.set(uid, `198.51.100.${this.#made}`);
        return { address: `198.51.100.${this.#made}` };
      case 'find':
        if (address === '' && this.knowsOwners) return { address: this.#owners.get(uid) ?? '' };
        return this.takesAny || this.holders.has(address) ? { address, providerID: this.holders.get(address) ?? '' } : null;
      case 'assign':
        if (!this.takesAny && !this.holders.has(address)) return null;
        this.holders.set(address, node);
        return { address, providerID: node };
      case 'delete':
        this.holders.delete(address);
        return { address };
      case 'open':
        this.open.set(firewall, new Set([...(this.open.get(firewall) ?? []), ...wantedIn(request)]));
        return {};
      case 'prune':
        this.open.set(firewall, new Set(wantedIn(request)));
        return {};
    }
  }
}

interface Wanted {
  readonly ports: readonly {
    readonly port: number;
    readonly protocol: string;
    readonly nodes: readonly { readonly providerID: string }[];
  }[];
}

const wantedIn = (request: JobRequest['request']): readonly string[] =>
  (request as unknown as Wanted).ports.flatMap(({ port, protocol, nodes }) =>
    nodes.map(({ providerID }) => `${protocol.toLowerCase()}/${port} ${providerID}`),
  );

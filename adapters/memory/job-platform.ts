import type { JobMessage, JobRequest } from '../../actors/ports/job-driver.ts';

/** What Jobs work on: a platform that nobody else knows. */
export class MemoryPlatform {
  /** Who holds which address; null while it is nowhere. */
  readonly holders = new Map<string, string | null>();
  /** What is open, by firewall: `tcp/80 example://7`. */
  readonly open = new Map<string, ReadonlySet<string>>();
  /** Whether it tells which address was made for whom. */
  knowsOwners = false;
  /** Whether it knows every address, as one that is nowhere yet, and assigns what it has not made. */
  takesAny = false;
  readonly #owners = new Map<string, string>();
  #made = 0;

  /** Does what a Job is asked, as a good template does. Null when there is no such thing. */
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

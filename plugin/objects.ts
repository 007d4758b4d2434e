import * as pools from '../crds/generated/floatingippool.ts';
import * as ips from '../crds/generated/ip.ts';
import * as ipGroups from '../crds/generated/ipgroup.ts';
import * as recordSets from '../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import type { Session } from './ports.ts';

interface Definition {
  readonly API_VERSION: string;
  readonly PLURAL: string;
}

/** API path of all objects of a kind, or of those of one namespace. */
const collection = ({ API_VERSION, PLURAL }: Definition, namespace: string | null = null): string =>
  `/apis/${API_VERSION}${namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${PLURAL}`;

/** The address-related part of a Service. */
export interface ServiceObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string };
  readonly spec?: { readonly type?: string; readonly loadBalancerClass?: string };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

/** Objects with addresses in a cluster. A kind that the server does not serve has none. */
export interface Objects {
  readonly pools: readonly pools.FloatingIPPool[];
  readonly routedIPs: readonly routedIPs.RoutedIP[];
  readonly recordSets: readonly recordSets.NodeDNSRecordSet[];
  readonly ips: readonly ips.IP[];
  readonly groups: readonly ipGroups.IPGroup[];
  readonly services: readonly ServiceObject[];
}

export interface Gathered {
  readonly objects: Objects;
  /** Why some could not be read, one line each. */
  readonly problems: readonly string[];
}

const ALL: readonly (keyof Objects)[] = ['pools', 'routedIPs', 'recordSets', 'ips', 'groups', 'services'];

/** Reads all parts, or the requested ones. What may not be read is left out and reported: a user of one namespace sees what is there. */
export async function gather({ api, namespace }: Pick<Session, 'api' | 'namespace'>, parts = ALL): Promise<Gathered> {
  const problems: string[] = [];
  const read = async <T>(part: keyof Objects, path: string): Promise<readonly T[]> => {
    if (!parts.includes(part)) return [];
    try {
      return ((await api.list(path)) ?? []) as readonly T[];
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
      return [];
    }
  };
  const [foundPools, foundRoutedIPs, foundRecordSets, foundIPs, foundGroups] = await Promise.all([
    read<pools.FloatingIPPool>('pools', collection(pools, namespace)),
    read<routedIPs.RoutedIP>('routedIPs', collection(routedIPs, namespace)),
    read<recordSets.NodeDNSRecordSet>('recordSets', collection(recordSets, namespace)),
    read<ips.IP>('ips', collection(ips)),
    read<ipGroups.IPGroup>('groups', collection(ipGroups)),
  ]);
  // Only where addresses are given to Services: there are many of them.
  const services =
    foundIPs.length + foundGroups.length === 0
      ? []
      : await read<ServiceObject>(
          'services',
          namespace === null ? '/api/v1/services' : `/api/v1/namespaces/${encodeURIComponent(namespace)}/services`,
        );
  const objects = {
    pools: foundPools,
    routedIPs: foundRoutedIPs,
    recordSets: foundRecordSets,
    ips: foundIPs,
    groups: foundGroups,
    services,
  };
  return { objects, problems };
}

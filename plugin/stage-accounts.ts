import type { KnownProvider, ProviderDirectory, ProviderNeed } from '../actors/ports/directory.ts';
import type { Clock } from '../actors/ports/records.ts';
import { memoryDirectory } from '../adapters/memory/directory.ts';
import { MemoryJobs } from '../adapters/memory/job-driver.ts';
import { memoryProvider } from '../adapters/memory/provider.ts';
import type { ObservedAddress, ProviderID } from '../machines/model/types.ts';
import type { ProviderFacts } from '../machines/spec/providers.ts';
import type { Scene, Snapshot } from './stage.ts';

/** Prefix of providerIDs of the only built-in cloud. */
export const CLOUD_PREFIX = 'digitalocean://';
const CAN = { ipv6: true, addressesPerNode: 1, providerIDPrefix: CLOUD_PREFIX, missing: null };
const DIGITALOCEAN: ProviderFacts = { ...CAN, addresses: true, dns: true };
const CLOUDFLARE: ProviderFacts = { ...CAN, addresses: false, dns: true, ipv6: false };

/** A platform behind Jobs: any providerID, and as many addresses per node as the class says. */
const BY_JOBS: ProviderFacts = {
  addresses: true,
  dns: false,
  ipv6: false,
  addressesPerNode: 1_000_000,
  providerIDPrefix: '',
  missing: null,
};

/** The accounts and platforms of a rehearsal. */
interface Accounts {
  readonly providers: ProviderDirectory;
  readonly addressesPerNode: number;
  snapshot(): Pick<Snapshot, 'addresses' | 'zones' | 'firewalls'>;
}

/** One cloud, and one platform behind Jobs, with the contents of the scene. Every Job does what it is asked. */
export function stageAccounts(clock: Clock, scene: Scene): Accounts {
  const provider = memoryProvider(clock, { name: 'digitalocean', providerIDPrefix: CLOUD_PREFIX, quota: Number.MAX_SAFE_INTEGER });
  const { cloud } = provider;
  const jobs = new MemoryJobs(clock);
  const { platform } = jobs;
  platform.takesAny = true;
  for (const { providerID } of scene.nodes) if (providerID) cloud.addNode(providerID as ProviderID);
  for (const machine of scene.machines) cloud.addNode(machine);
  for (const { address, region, providerID } of scene.addresses) {
    cloud.addAddress(address, region, providerID);
    platform.holders.set(address, providerID);
  }
  for (const zone of scene.zones) cloud.addZone(zone);
  for (const firewall of scene.firewalls) cloud.addFirewall(firewall);
  const known: KnownProvider = { facts: DIGITALOCEAN, provider };
  const directory = memoryDirectory({ digitalocean: known, cloudflare: { facts: CLOUDFLARE, provider } });
  const answering = ({ templates }: ProviderNeed): KnownProvider => {
    const [addresses, firewalls] = [Boolean(templates?.updateRoutedIP), Boolean(templates?.updateFirewall)];
    if (!addresses && !firewalls) return known;
    const driven = { ...provider, jobs: jobs.driver({ addresses, firewalls }) };
    if (!addresses) return { facts: DIGITALOCEAN, provider: driven };
    const { addressesPerNode, providerIDPrefix } = BY_JOBS;
    return { facts: BY_JOBS, provider: { ...driven, capabilities: { ...provider.capabilities, addressesPerNode, providerIDPrefix } } };
  };
  const means: Pick<ProviderDirectory, 'need'> = {
    // Whatever account a class asks for, its contents are on the same stage.
    need: (_who, need) => {
      if (need && !directory.all[need.key]) directory.set(need.key, answering(need));
    },
  };
  const providers = Object.assign(directory, means);
  const begun = new Map(scene.addresses.map(({ address, providerID }) => [address as string, providerID as string | null]));
  return {
    providers,
    addressesPerNode: DIGITALOCEAN.addressesPerNode,
    snapshot: () => {
      const all = new Map(cloud.addresses().map((each) => [each.address as string, each]));
      for (const [address, holder] of platform.holders) {
        // The platform is right about what it has moved, the cloud about all else.
        if (all.has(address) && begun.get(address) === (holder || null)) continue;
        all.set(address, {
          ...(all.get(address) ?? { region: '', locked: false }),
          address,
          providerID: holder || null,
        } as ObservedAddress);
      }
      return {
        addresses: [...all.values()],
        zones: scene.zones.map((zone) => cloud.zone(zone)),
        firewalls: scene.firewalls.map((name) => {
          const opened = [...(platform.open.get(name) ?? [])].map((rule) => rule.split(' ')[0] ?? '');
          return { name, ports: [...new Set([...(cloud.findFirewall(name)?.ports ?? []), ...opened])] };
        }),
      };
    },
  };
}

import { isFirewall } from '../machines/firewall-id.ts';
import type { PoolContext, PoolInput } from '../machines/pool.ts';
import { nothingRemembered } from '../machines/rebuild.ts';
import type { ActorId, Address } from '../machines/types.ts';
import { isPool, isRoutedIP } from './pools.ts';
import type { ActorRecord, StoredCell } from './ports.ts';
import { begin } from './step.ts';
import { type FirewallLeftoverPorts, firewallLeftover } from './unheard.ts';

export interface LeftoverPorts extends FirewallLeftoverPorts {
  readonly providers: { readonly all: Readonly<Record<string, unknown>> };
  /** Whether the object that the actor stands for is gone, or another one of that name is there; false while that cannot be seen. */
  readonly isGone: (actor: ActorId, uid: string) => boolean;
}

/** What takes the place of records that are out of date, when they are those of a firewall, or of a pool whose object is gone: a pool that knows which addresses it had, so that
 *  no node goes on to bear them, and the creation that it had begun. It claims no node and sends nothing: others may have decided about these addresses since. Null for all
 *  else: a RoutedIP is there as long as anything is to be undone for it. */
export function leftover(cell: ActorId, records: StoredCell['records'], ports: LeftoverPorts): ActorRecord | null {
  const record = records[cell];
  if (isFirewall(cell)) return firewallLeftover(cell, record, ports);
  const { charts, clock, providers, settings, isGone } = ports;
  const chart = charts.pool;
  if (!chart || !record || !isPool(cell) || isRoutedIP(cell)) return null;
  const { ref, since = 0, members = {}, left = [], remembered = {}, acquiring, spec, provider = '' } = contextOf(record);
  if (!ref || !isGone(cell, ref.uid)) return null;
  const addresses = [...new Set([...Object.keys(members), ...Object.keys(remembered), ...left, ...(spec?.ips ?? [])])] as Address[];
  const key = spec?.provider ?? provider;
  const inDoubtUntil = clock.now() + settings.callDeadlineMs;
  const input: PoolInput = {
    id: cell,
    ref,
    since,
    ...(Object.hasOwn(providers.all, key) && { provider: key }),
    remembered: nothingRemembered({ intent: acquiring?.intent ?? null, inDoubtUntil, addresses }),
  };
  const { snapshot } = begin(chart, input);
  return { ...record, chartVersion: chart.version, snapshot: snapshot as ActorRecord['snapshot'], waiting: {} };
}

const contextOf = ({ snapshot }: ActorRecord): Partial<PoolContext> => snapshot.context as Partial<PoolContext>;

import type { AddressContext } from './ip.ts';
import { confirmedHere } from './ip.ts';
import { opens } from './ip-firewall.ts';
import type { Exposed, PoolContext } from './pool.ts';

/** What people hear of a RoutedIP besides what they hear of any address. */
export interface RoutedIPEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly action: string;
}

/** Of the owner's part in a turn. */
export function ownerEvents(before: PoolContext | undefined, after: PoolContext): readonly RoutedIPEvent[] {
  if (!after.exposed) return [];
  return [...serviceEvents(before?.exposed ?? null, after.exposed), ...classEvents(before, after), ...addressEvents(before, after)];
}

const warning = (reason: string, message: string): RoutedIPEvent => ({ type: 'Warning', reason, action: 'Validate', message });

function serviceEvents(before: Exposed | null, { trouble, warnings }: Exposed): readonly RoutedIPEvent[] {
  const fresh = warnings.filter(({ message }) => !before?.warnings.some((each) => each.message === message));
  const isNew = trouble !== null && trouble.message !== before?.trouble?.message;
  return [...(isNew ? [warning(trouble.reason, trouble.message)] : []), ...fresh.map(({ reason, message }) => warning(reason, message))];
}

function classEvents(before: PoolContext | undefined, { exposed, spec }: PoolContext): readonly RoutedIPEvent[] {
  const { clampedFrom = null, perNode } = spec?.exposes ?? {};
  const isClamped = clampedFrom !== null && clampedFrom !== (before?.spec?.exposes?.clampedFrom ?? null);
  const error = exposed?.policyError ?? null;
  const isBroken = error !== null && error !== before?.exposed?.policyError;
  return [
    ...(isClamped
      ? [warning('PerNodeIPLimitClamped', `perNodeIPLimit is ${clampedFrom}, but a node of this provider holds ${perNode} at most`)]
      : []),
    ...(isBroken ? [warning('InvalidSpec', `${error}; what it said before goes on`)] : []),
  ];
}

function addressEvents(before: PoolContext | undefined, after: PoolContext): readonly RoutedIPEvent[] {
  if (!before) return [];
  const bound = after.exposed?.bound ?? null;
  const isFound = bound !== null && before.exposed?.bound === null && !after.created.includes(bound);
  const gone = Object.keys(before.members).filter((address) => !Object.hasOwn(after.members, address));
  return [
    ...(isFound ? [{ type: 'Normal', reason: 'AddressFound', action: 'Find', message: `${bound} is used` } as const] : []),
    ...(after.deleted ? gone.map((address) => released(after, address)) : []),
  ];
}

function released({ spec, created, exposed }: PoolContext, address: string): RoutedIPEvent {
  const isDeleted = spec?.exposes?.reclaim === 'Delete' && ((created as readonly string[]).includes(address) || exposed?.deleteAdopted);
  return isDeleted
    ? { type: 'Normal', reason: 'Released', action: 'Release', message: `${address} was deleted at the provider` }
    : { type: 'Normal', reason: 'Retained', action: 'Release', message: `${address} stays where it is` };
}

/** Of the address's part in a turn. */
export function firewallEvents(before: AddressContext | undefined, after: AddressContext): readonly RoutedIPEvent[] {
  if (!before || !opens(after) || !confirmedHere(after)) return [];
  const isOpened = after.claimed.some((firewall) => !before.claimed.includes(firewall));
  const name = after.policy.firewall?.split('/').slice(2).join('/') ?? '';
  return isOpened
    ? [{ type: 'Normal', reason: 'FirewallOpened', action: 'OpenFirewall', message: `ports of ${after.address} are open in ${name}` }]
    : [];
}

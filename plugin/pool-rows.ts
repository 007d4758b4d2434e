import type { FloatingIPPool, IPStatus } from '../crds/generated/floatingippool.ts';
import { conditionOf, IN_DOUBT, joined, mentions, pausedOf, stateless, troubleOf, unseen } from './conditions.ts';
import type { Next, Row, Since } from './row.ts';

/** One row for each address of the pool; one for the pool itself while it has none, or fewer than it wants. */
export function poolRows(pool: FloatingIPPool): readonly Row[] {
  const ips = Object.entries(pool.status?.ips ?? {});
  // Of addresses that no operator has processed only the wish is known.
  const unlooked = (pool.spec?.ips ?? []).filter((address) => pool.status?.ips?.[address] === undefined);
  const rows = [
    ...ips.map(([address, status]) => addressRow(pool, address, status, ips.length)),
    ...unlooked.map((address) => bareRow(pool, address)),
  ];
  const desired = pool.spec?.desiredIPs ?? 0;
  return rows.length === 0 || rows.length < desired ? [...rows, bareRow(pool, null)] : rows;
}

const about = ({ metadata }: FloatingIPPool): Pick<Row, 'kind' | 'namespace' | 'name'> => ({
  kind: 'floatingippool',
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/** Row of an address without status, or of a pool without address. */
function bareRow(pool: FloatingIPPool, address: string | null): Row {
  const ready = conditionOf(pool, 'Ready');
  const why = unseen(pool);
  return {
    ...about(pool),
    address,
    where: null,
    state: stateless(pool),
    since: ready && ready.status !== 'True' ? { at: ready.lastTransitionTime, exact: true } : null,
    reason: why === null ? (ready?.reason ?? '') : '',
    message: why ?? ready?.message ?? '',
    next: pausedOf(pool),
    attention: true,
  };
}

function addressRow(pool: FloatingIPPool, address: string, status: IPStatus, of: number): Row {
  const stale = unseen(pool);
  const { reason, message } = whyOf(pool, address, status);
  const isFine =
    status.state === 'active' && !status.held && conditionOf(pool, 'Ready')?.status !== 'Unknown' && troubleWith(pool, address) === null;
  return {
    ...about(pool),
    address,
    where: status.nodeName ?? status.providerID ?? null,
    state: status.state,
    since: sinceOf(pool, status, of),
    reason,
    message: joined(message, stale),
    next: pausedOf(pool) ?? nextOf(status),
    attention: stale !== null || !(isFine || status.state === 'disabled'),
  };
}

function nextOf({ state, coolOffUntil, graceUntil, contendedUntil, held, machineState }: IPStatus): Next | null {
  if (held) return { what: 'move', at: null };
  if (graceUntil) return { what: 'move', at: graceUntil };
  if (contendedUntil) return { what: 'resume', at: contendedUntil };
  if (coolOffUntil) return { what: 'retry', at: coolOffUntil };
  return state === 'error' && machineState === 'CoolOff' ? { what: 'retry', at: null } : null;
}

/** A pool records when its last assignment was confirmed: with one address that is its own time, with more it is the latest that each can have. */
function sinceOf(pool: FloatingIPPool, { state, notReadySince }: IPStatus, of: number): Since | null {
  if (notReadySince) return { at: notReadySince, exact: true };
  const { lastAssignmentTime } = pool.status ?? {};
  if (state === 'active') return lastAssignmentTime ? { at: lastAssignmentTime, exact: of === 1 } : null;
  const ready = conditionOf(pool, 'Ready');
  return of === 1 && ready?.status === 'False' ? { at: ready.lastTransitionTime, exact: true } : null;
}

interface Why {
  readonly reason: string;
  readonly message: string;
}

/** The pool's conditions report the first of its problems: an address with a problem of its own shows that. */
function whyOf(pool: FloatingIPPool, address: string, status: IPStatus): Why {
  if (status.state === 'disabled') return { reason: '', message: 'listed beyond desiredIPs' };
  const doubt = status.inDoubt ? IN_DOUBT : '';
  const ready = conditionOf(pool, 'Ready');
  // The rest of the status of an unserved address is from before.
  if (ready?.status === 'Unknown') return { reason: ready.reason, message: joined(ready.message, doubt) };
  const found = wait(pool, status) ?? (status.state === 'active' ? (troubleWith(pool, address) ?? SERVING) : lacking(pool, status));
  return { reason: found.reason, message: joined(status.error, doubt) || found.message };
}

const SERVING: Why = { reason: 'Assigned', message: '' };

/** The pool's trouble, unless it is about other addresses of it. */
function troubleWith(pool: FloatingIPPool, address: string): Why | null {
  const trouble = troubleOf(pool);
  const others = Object.keys(pool.status?.ips ?? {}).filter((each) => each !== address);
  if (!trouble || mentions(trouble.message, address)) return trouble;
  return others.some((each) => mentions(trouble.message, each)) ? null : trouble;
}

/** Why nothing moves for a time although something is wrong; null when that is not so. */
function wait(pool: FloatingIPPool, { held, contendedUntil, graceUntil }: IPStatus): Why | null {
  const told = (type: string) => conditionOf(pool, type)?.message ?? '';
  if (contendedUntil) return { reason: 'Contended', message: told('Degraded') };
  if (held) return { reason: 'SafeHold', message: told('Degraded') };
  return graceUntil ? { reason: 'Recovering', message: told('Progressing') } : null;
}

function lacking(pool: FloatingIPPool, { state }: IPStatus): Why {
  const [degraded, progressing] = [conditionOf(pool, 'Degraded'), conditionOf(pool, 'Progressing')];
  const first = state === 'in-progress' ? [progressing, degraded] : [degraded, progressing];
  return first.find((condition) => condition?.status === 'True') ?? { reason: conditionOf(pool, 'Ready')?.reason ?? '', message: '' };
}

import type { Remembered } from '../address/context.ts';
import { parseAddress } from '../model/address.ts';
import { type ActorId, type Address, fieldsOf, isTerm, type ProviderID } from '../model/types.ts';
import type { Absence } from '../policy/recovery-grace.ts';
import type { RememberedPool } from '../pool/context.ts';
import { showsAddress } from './holdings.ts';

/** A pool's state restored from its status, in case the records are lost. Unreadable entries are left out: the provider supplies the rest. `now` and `callDeadlineMs`: a call
 *  that was under way when the records were lost may still take effect until then. */
export function rememberedPool(status: unknown, now: number, callDeadlineMs: number): RememberedPool {
  const fields = fieldsOf(status);
  const ips = Object.entries(fieldsOf(fields.ips)).flatMap(([text, entry]) => {
    const address = parseAddress(text);
    return address ? [{ address, entry: fieldsOf(entry) }] : [];
  });
  return {
    lastAssignmentAt: time(fields.lastAssignmentTime),
    intent: intentOf(fields.pendingCreate),
    inDoubtUntil: now + callDeadlineMs,
    created: ips.filter(({ entry }) => entry.origin === 'Created').map(({ address }) => address),
    addresses: Object.fromEntries(
      ips.map(({ address, entry }) => [
        address,
        {
          epoch: count(entry.epoch),
          ...(entry.unconfirmed === true && { unconfirmed: true as const }),
          ...(showsAddress(entry) && { shown: true }),
          ...(serves(entry) && typeof entry.providerID === 'string' && { servedOn: entry.providerID as ProviderID }),
          inDoubtUntil: mayBeUnderWay(entry) ? now + callDeadlineMs : null,
          ...(mayBeUnderWay(entry) && typeof entry.electedNode === 'string' && { toward: entry.electedNode }),
          ...contendedIn(entry),
        },
      ]),
    ),
    absent: absentIn(
      fields.safeHold,
      ips.flatMap(({ entry }) => absenceIn(entry, now) ?? servingIn(entry, now) ?? []),
      now,
    ),
    held: nodesHeld(fields.safeHold).length > 0,
  };
}

function contendedIn({ contendedUntil }: Readonly<Record<string, unknown>>): { readonly contendedUntil?: number } {
  const until = time(contendedUntil);
  return until === null ? {} : { contendedUntil: until };
}

/** The absent nodes, once each: those in a hold, and those in their grace. */
function absentIn(safeHold: unknown, waited: readonly Absence[], now: number): readonly Absence[] {
  const held = nodesHeld(safeHold).flatMap((entry) => absenceIn({ ...entry, nodeName: entry.name }, now) ?? []);
  const all = new Map([...held, ...waited].map((absence) => [`${absence.node.name} ${absence.node.providerID}`, absence]));
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, absence]) => absence);
}

const nodesHeld = (safeHold: unknown): readonly Readonly<Record<string, unknown>>[] => {
  const { nodes } = fieldsOf(safeHold);
  return Array.isArray(nodes) ? nodes.map(fieldsOf) : [];
};

/** A node in its grace. Its machine is looked up once more. */
function absenceIn({ nodeName, providerID, notReadySince }: Readonly<Record<string, unknown>>, now: number): Absence | null {
  const since = time(notReadySince);
  if (typeof nodeName !== 'string' || typeof providerID !== 'string' || since === null) return null;
  return {
    node: { name: nodeName, providerID: providerID as ProviderID, region: '', createdAt: 0 },
    since: Math.min(since, now),
    failing: true,
    askAt: now,
    asks: 0,
  };
}

/** The node on which an address served: if it is not Ready by now, it gets its full grace as if nothing had been lost. */
const servingIn = (entry: Readonly<Record<string, unknown>>, now: number): Absence | null =>
  serves(entry) ? absenceIn({ ...entry, notReadySince: new Date(now).toISOString() }, now) : null;

/** FLIPOP's own CRD keeps only its `state`. */
const serves = ({ machineState, state }: Readonly<Record<string, unknown>>): boolean =>
  machineState === 'Stable' || (machineState === undefined && state === 'active');

/** For a pool about to end only its addresses and the creation under way are remembered. */
export const nothingRemembered = ({
  addresses,
  ...creation
}: Pick<RememberedPool, 'intent' | 'by' | 'inDoubtUntil'> & { readonly addresses: readonly Address[] }): RememberedPool => ({
  ...creation,
  lastAssignmentAt: null,
  created: [],
  addresses: Object.fromEntries(addresses.map((address) => [address, { epoch: 0, inDoubtUntil: null }])),
  absent: [],
  held: false,
});

/** An assign of an address that may be under way, with the node where it is known. */
export interface Doubt {
  readonly epoch: number;
  readonly toward?: string;
}

/** Adds assigns that are missing in the status and may take effect until then. */
export const withDoubts = (remembered: RememberedPool, doubts: ReadonlyMap<Address, Doubt>, inDoubtUntil: number): RememberedPool => ({
  ...remembered,
  addresses: {
    ...remembered.addresses,
    ...Object.fromEntries([...doubts].map(([address, doubt]) => [address, { ...remembered.addresses[address], ...doubt, inDoubtUntil }])),
  },
});

/** Adds firewalls that may have claims of an address although the status does not show them. */
export const withClaimed = (remembered: RememberedPool, claimed: ReadonlyMap<Address, readonly ActorId[]>): RememberedPool => {
  const withAll = (address: Address, firewalls: readonly ActorId[]): Remembered => {
    const told = remembered.addresses[address] ?? { epoch: 0, inDoubtUntil: null };
    return { ...told, claimed: [...new Set([...(told.claimed ?? []), ...firewalls])] };
  };
  const all = Object.fromEntries([...claimed].map(([address, firewalls]) => [address, withAll(address, firewalls)]));
  return { ...remembered, addresses: { ...remembered.addresses, ...all } };
};

/** FLIPOP's own CRD keeps FLIPOP's fields and drops ours. */
const mayBeUnderWay = ({ inDoubt, machineState, state }: Readonly<Record<string, unknown>>): boolean =>
  inDoubt === true || machineState === 'Assigning' || (state === 'in-progress' && machineState === undefined);

/** The addresses in a status. */
export const addressesIn = (status: unknown): readonly Address[] =>
  Object.keys(fieldsOf(fieldsOf(status).ips)).flatMap((text) => parseAddress(text) ?? []);

/** The highest term in a status; 0 for none. */
export const termIn = (status: unknown): number => {
  const term = count(fieldsOf(status).term);
  return isTerm(term) ? term : 0;
};

function intentOf(value: unknown): RememberedPool['intent'] {
  const fields = fieldsOf(value);
  const listedAt = time(fields.startedAt);
  if (!Array.isArray(fields.knownAddresses) || listedAt === null) return null;
  const known = fields.knownAddresses.flatMap((text): Address[] => {
    const address = typeof text === 'string' ? parseAddress(text) : null;
    return address ? [address] : [];
  });
  return { knownAddresses: known, listedAt, region: typeof fields.region === 'string' ? fields.region : '' };
}

/** The key of the provider at which the creation in a status began; null where the status does not say. */
export function creationAt(status: unknown): string | null {
  const { provider } = fieldsOf(fieldsOf(status).pendingCreate);
  return typeof provider === 'string' && provider !== '' ? provider : null;
}

const count = (value: unknown): number => (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0);

function time(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

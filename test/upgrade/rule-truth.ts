import type { History, Json, ProviderCall, StatusRecord } from './history.ts';

/** So long what was so before an assign may still be said, ms: statuses are written after the turn that changes them, and only the newest is. */
const LAG_MS = 5_000;

type Fields = { readonly [field: string]: Json | undefined };

/** Where a status says that an address is, it was led by the provider; and nothing is said to be done before it can be. */
export function statusTrue({ calls, statuses, acts }: History): readonly string[] {
  const assigns = calls.filter(({ kind, accepted }) => kind === 'assign' && accepted !== false).toSorted((a, b) => a.at - b.at);
  const byAddress = Map.groupBy(assigns, ({ subject }) => subject);
  const early = acts.filter(({ from, to, notBeforeMs }) => to !== null && to - from < notBeforeMs);
  return [
    ...statuses.flatMap((record) => placesIn(record).flatMap((place) => untrue(place, record, byAddress.get(place.address) ?? []))),
    ...early.map(
      ({ stage, what, notBeforeMs }) => `stage ${stage}: ${what}: said to be done before ${notBeforeMs} ms, when it could not be`,
    ),
  ];
}

interface Place {
  readonly address: string;
  readonly node: string;
}

/** Where addresses are by a status that says that nothing is to be done about them. */
function placesIn({ status }: StatusRecord): readonly Place[] {
  const { ips, state, routedIP, assignedNode } = (status ?? {}) as Fields;
  const pool = Object.entries((ips ?? {}) as Fields).map(([address, of]) => ({ address, ...(of as Fields) }) as Fields);
  const active = pool.filter((of) => of.state === 'active').map((of) => ({ address: String(of.address), node: String(of.nodeName) }));
  return state === 'Stable' && assignedNode !== undefined ? [...active, { address: String(routedIP), node: String(assignedNode) }] : active;
}

function untrue({ address, node }: Place, { object, at }: StatusRecord, assigns: readonly ProviderCall[]): readonly string[] {
  const until = assigns.filter((call) => call.at <= at);
  const [settled, recent] = [until.filter((call) => call.at < at - LAG_MS), until.filter((call) => call.at >= at - LAG_MS)];
  // What nobody read the answer of may or may not have been done.
  const sure = settled.findLastIndex(({ accepted }) => accepted === true);
  const possible = [...settled.slice(Math.max(sure, 0)), ...recent].map((call) => call.node);
  if (possible.length === 0 || possible.includes(node)) return [];
  return [`${object} says that ${address} is on ${node}, and it was led to ${possible.join(', ')}`];
}

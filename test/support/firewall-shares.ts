import type { Transition } from '../../actors/ports/observers.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import type { FirewallFound } from '../../machines/jobs.ts';
import { namespaceOf } from '../../machines/model/namespaces.ts';

const LAST_RULES = 10;

/** What a firewall decided of the rules that were free when it was looked at, and should not have; as text. */
export function wrongShares({ heard, before, after }: Transition): readonly string[] {
  const looks = heard.flatMap(({ event }) => (event.type === 'xstate.done.actor.look' ? [event.output as FirewallFound] : []));
  const [found] = looks;
  if (!before || !after || looks.length !== 1 || found?.freeRules === undefined) return [];
  const [was, is] = [before, after].map(({ snapshot }) => snapshot.context as unknown as FirewallContext) as [
    FirewallContext,
    FirewallContext,
  ];
  const granted = new Set([...found.ports, ...was.owned.ports, ...(was.lost?.ports ?? []), ...(is.lost?.ports ?? [])]);
  const added = is.owned.ports.filter((port) => !granted.has(port));
  const claims = Object.entries(is.claims);
  const wanted = new Set(claims.flatMap(([, { ports }]) => ports));
  const putBack = [...granted].filter((port) => wanted.has(port) && !found.ports.includes(port));
  const left = found.freeRules - putBack.length - added.length;
  const greedy = [...Map.groupBy(claims, ([id]) => namespaceOf(id))].flatMap(([namespace, own]) => {
    const ports = new Set(own.flatMap(([, held]) => held.ports));
    const has = [...ports].filter((port) => granted.has(port) || added.includes(port)).length;
    const forOthers = added.filter((port) => !ports.has(port)).length;
    const gets = added.length - forOthers;
    const free = left + forOthers;
    return gets === 0 || free >= LAST_RULES || has - 1 <= free ? [] : [`${namespace} gets ${gets} and has ${has}, and ${free} are free`];
  });
  const denied = claims.flatMap(([id, { beyond = [] }]) => {
    const isNew = was.claims[id]?.beyond !== beyond && beyond.length > 0;
    return isNew && left - beyond.length >= LAST_RULES ? [`${id} is refused ${beyond.length}, and ${left} are free`] : [];
  });
  return [...greedy, ...denied];
}

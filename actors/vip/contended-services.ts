import type { ActorId } from '../../machines/model/types.ts';
import type { VipContext } from '../../machines/vip/decisions.ts';
import { type ParsedGroup, parseGroup } from '../../machines/vip/ip-group.ts';
import type { VipService } from '../../machines/vip/objects.ts';
import type { ObservedVips } from './object-cache.ts';
import type { GroupOpenness } from './openness.ts';

/** The Services left to another controller, as `namespace/name`, ascending, by IPGroup: the one whose address is reserved for them, else the first by name that they would get
 *  one of. */
export function contendedByGroup(
  { services, groups }: Pick<ObservedVips, 'services' | 'groups'>,
  openness: Pick<GroupOpenness, 'why'>,
  savedOf: (key: ActorId) => VipContext | undefined,
): ReadonlyMap<string, readonly string[]> {
  const usable = [...groups.values()]
    .map(({ ref, spec }) => parseGroup(ref.name, spec))
    .filter((group) => group.kind === 'Valid')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const home = ({ ref, family }: VipService): string | undefined =>
    usable.find((group) => isOf(group, family) && openness.why(group.name, ref.namespace) === null)?.name;
  const found = new Map<string, string[]>();
  for (const [key, service] of services) {
    const saved = savedOf(key);
    const group = saved?.contention ? saved.target?.group || home(service) : undefined;
    if (group === undefined) continue;
    const names = found.get(group) ?? [];
    names.push(`${service.ref.namespace}/${service.ref.name}`);
    found.set(group, names);
  }
  return new Map([...found].map(([group, names]) => [group, names.sort()]));
}

const isOf = (group: ParsedGroup, family: VipService['family']): boolean => family === null || group.family === family;

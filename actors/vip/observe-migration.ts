import type { SegmentObject } from '../../machines/migration/group-segment-mapping.ts';
import { cloneOfVirtualIP, surroundingsOf } from '../../machines/migration/observe.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import type { Surroundings, VirtualIP } from '../../machines/vip/virtualip.ts';
import type { MigrationWriter } from '../ports/migration.ts';

/** What is known from watches. */
export interface KnownAround {
  /** The IP of the VirtualIP's address; null for none. */
  readonly ip: ReservedIP | null;
  readonly groups: readonly SegmentObject[];
}

/** What surrounds a VirtualIP, sent along with it. Its Service and its copy are read, by two requests: VirtualIPs are few, and Services in full are many.
 *  @throws ProviderError | Unreachable: the next resync asks again */
export async function lookAround(reader: Pick<MigrationWriter, 'service'>, vip: VirtualIP, known: KnownAround): Promise<Surroundings> {
  const { namespace } = vip.ref;
  const [service, clone] = await Promise.all([
    vip.service === '' ? null : reader.service({ namespace, name: vip.service }),
    reader.service({ namespace, name: cloneOfVirtualIP(vip) }),
  ]);
  return surroundingsOf(vip, { ...known, service, clone });
}

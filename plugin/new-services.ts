import * as routedIPs from '../crds/generated/routedip.ts';
import { serviceOf } from '../machines/model/service-ref.ts';
import type { ObservedService } from '../machines/model/types.ts';
import { fields, text } from './fields.ts';
import { SERVICE } from './manifest.ts';
import { called, type Scene, type Wish } from './stage.ts';

/** Services that a manifest creates. The nodes that serve one are unknown before it exists: it has no endpoints until its Pods run. */

const placeOf = ({ namespace, name }: Pick<Wish, 'namespace' | 'name'>): string => `${namespace}/${name}`;

const leadsTo = ({ kind, namespace, spec }: Wish): string => (kind === routedIPs.KIND ? placeOf(serviceOf(namespace, spec)) : '');

const created = (scene: Scene, changes: readonly Wish[]): readonly Wish[] =>
  changes.filter((change) => change.kind === SERVICE && !scene.services.has(placeOf(change)));

/** Their initial state, by `namespace/name`. Their ports do not matter as long as they have no endpoints. */
export const newServices = (scene: Scene, changes: readonly Wish[]): ReadonlyMap<string, ObservedService> =>
  new Map(
    created(scene, changes).map((change) => {
      const { type, selector } = fields(change.spec);
      const service = { type: text(type) || 'ClusterIP', hasSelector: Object.keys(fields(selector)).length > 0 };
      return [placeOf(change), { ...service, ports: [], endpoints: [] }];
    }),
  );

/** Note on a RoutedIP that leads to such a Service; null for all else. */
export function waitsFor(scene: Scene, changes: readonly Wish[], wish: Wish): string | null {
  const service = created(scene, changes).find((change) => placeOf(change) === leadsTo(wish));
  return service ? `${called(wish)}: where its address goes depends on the endpoints of ${called(service)}, which are not there yet` : null;
}

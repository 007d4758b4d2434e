import * as ips from '../crds/generated/ip.ts';
import * as ipGroups from '../crds/generated/ipgroup.ts';
import { type Fields, fields, text } from './fields.ts';
import { type Change, SERVICE } from './manifest.ts';
import type { Session } from './ports.ts';
import type { VipScene } from './stage.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** @throws Refused | Error when Services, IPGroups or IPs cannot be read */
export async function vipSceneOf({ api, facts, now }: Session, changes: readonly Change[]): Promise<VipScene> {
  const [groups, reserved, services] = await Promise.all(
    [`/apis/${ipGroups.API_VERSION}/${ipGroups.PLURAL}`, `/apis/${ips.API_VERSION}/${ips.PLURAL}`, '/api/v1/services'].map((path) =>
      api.list(path),
    ),
  );
  const all = services ?? [];
  const applied = changes.filter(({ kind }) => kind === SERVICE).map((change) => appliedTo(all.find(isNamed(change)), change, now));
  const isBound = (object: unknown): boolean => facts.vipService(object, { loadBalancerClass: null })?.guarded ?? false;
  const served = classOf([...all, ...applied].filter(isBound));
  const observed = (objects: readonly unknown[]) =>
    objects.flatMap((object) => facts.vipService(object, { loadBalancerClass: served }) ?? []);
  const held = (reserved ?? []).flatMap((object) => facts.reservedIP(object) ?? []);
  const owners = new Set(held.flatMap(({ owner }) => (owner ? [`${owner.namespace}/${owner.name}`] : [])));
  return {
    loadBalancerClass: served,
    groups: (groups ?? []).map((group) => ({ name: nameOf(group), spec: fields(group).spec })),
    ips: held,
    services: observed(all).filter(
      ({ wanting, guarded, ref }) => wanting || guarded || owners.has(`${ref.namespace}/${ref.name}`) || applied.some(isNamed(ref)),
    ),
    applied: observed(applied),
  };
}

const nameOf = (object: unknown): string => text(fields(fields(object).metadata).name);

const isNamed =
  ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
  (object: unknown): boolean =>
    nameOf(object) === name && text(fields(fields(object).metadata).namespace) === namespace;

/** The operator's flag is not visible: of the Services that have a class, it has bound those of its own. */
const classOf = (bound: readonly unknown[]): string | null =>
  bound.map((object) => text(fields(fields(object).spec).loadBalancerClass)).find((each) => each !== '') ?? null;

/** The Service as `kubectl apply` would leave it: fields of the manifest and of others, without those that only the last apply had set. */
function appliedTo(present: unknown, { namespace, name, object }: Change, now: number): unknown {
  const { metadata, spec, status } = fields(present);
  const stored = fields(metadata);
  const former = lastApplied(fields(stored.annotations)[LAST_APPLIED]);
  const given = fields(fields(object).metadata);
  return {
    metadata: {
      uid: `of-${namespace}-${name}`,
      creationTimestamp: new Date(now).toISOString(),
      ...stored,
      namespace,
      name,
      annotations: merged(fields(stored.annotations), fields(fields(former.metadata).annotations), fields(given.annotations)),
    },
    spec: merged(fields(spec), fields(former.spec), fields(fields(object).spec)),
    status,
  };
}

const merged = (stored: Fields, former: Fields, given: Fields): Fields => ({
  ...Object.fromEntries(Object.entries(stored).filter(([key]) => !Object.hasOwn(former, key))),
  ...given,
});

const lastApplied = (annotation: unknown): Fields => {
  try {
    return fields(JSON.parse(text(annotation) || '{}'));
  } catch {
    return {};
  }
};

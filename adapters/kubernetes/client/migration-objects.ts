import type { LegacyIP, LiveIP, LiveService, LiveVirtualIP } from '../../../actors/ports/migration.ts';
import type { Json } from '../../../actors/ports/records.ts';
import { addressOfIP, GROUP_LABEL, LEGACY_GROUP_LABEL, OWNER_ANNOTATION, OWNER_UID_ANNOTATION } from '../../../machines/vip/objects.ts';
import { MIGRATE_ANNOTATION, type VirtualIPStatus } from '../../../machines/vip/virtualip.ts';
import { isObject, type JsonObject } from './merge-patch.ts';

const objectAt = (value: unknown, key: string): JsonObject => {
  const found = isObject(value as Json) ? (value as JsonObject)[key] : undefined;
  return isObject(found) ? found : {};
};
const textAt = (value: JsonObject, key: string): string => (typeof value[key] === 'string' ? value[key] : '');
const listAt = (value: JsonObject, key: string): readonly Json[] => {
  const found = value[key];
  return Array.isArray(found) ? found : [];
};
const textsOf = (value: JsonObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])));

/** A VirtualIP, reduced to the fields in use. */
export function virtualIPIn(object: unknown): LiveVirtualIP {
  const metadata = objectAt(object, 'metadata');
  const spec = objectAt(object, 'spec');
  const status = objectAt(object, 'status');
  const members = ['state', 'message', 'ip', 'service', 'keepalivedGroup', 'gsm', 'clonedService'];
  return {
    ref: { kind: 'VirtualIP', namespace: textAt(metadata, 'namespace'), name: textAt(metadata, 'name'), uid: textAt(metadata, 'uid') },
    version: textAt(metadata, 'resourceVersion'),
    deleting: metadata.deletionTimestamp !== undefined,
    asked: Object.hasOwn(objectAt(metadata, 'annotations'), MIGRATE_ANNOTATION),
    finalizers: listAt(metadata, 'finalizers').flatMap((name) => (typeof name === 'string' ? [name] : [])),
    service: textAt(spec, 'service'),
    ip: textAt(spec, 'ip'),
    status: Object.fromEntries(members.map((member) => [member, textAt(status, member)])) as unknown as VirtualIPStatus,
  };
}

/** A Service, with the fields needed to copy it. */
export function serviceIn(object: unknown): LiveService {
  const metadata = objectAt(object, 'metadata');
  const ingress = listAt(objectAt(objectAt(object, 'status'), 'loadBalancer'), 'ingress');
  return {
    namespace: textAt(metadata, 'namespace'),
    name: textAt(metadata, 'name'),
    uid: textAt(metadata, 'uid'),
    version: textAt(metadata, 'resourceVersion'),
    labels: textsOf(objectAt(metadata, 'labels')),
    annotations: textsOf(objectAt(metadata, 'annotations')),
    owners: listAt(metadata, 'ownerReferences').flatMap((owner) =>
      isObject(owner) ? [{ kind: textAt(owner, 'kind'), name: textAt(owner, 'name') }] : [],
    ),
    spec: objectAt(object, 'spec'),
    ingress: ingress.map((entry) => ({ ip: isObject(entry) && typeof entry.ip === 'string' ? entry.ip : null })),
  };
}

/** An IP; null for an object whose name is not that of an address. */
export function ipIn(object: unknown): LiveIP | null {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  const address = addressOfIP(name);
  if (address === null) return null;
  const labels = textsOf(objectAt(metadata, 'labels'));
  const ip: LegacyIP = {
    name,
    uid: textAt(metadata, 'uid'),
    address,
    owner: ownerIn(textsOf(objectAt(metadata, 'annotations'))),
    group: labels[GROUP_LABEL] ?? null,
    legacy: labels[LEGACY_GROUP_LABEL] !== undefined && labels[GROUP_LABEL] === undefined,
    gsm: labels[LEGACY_GROUP_LABEL] ?? '',
  };
  return { ...ip, version: textAt(metadata, 'resourceVersion') };
}

function ownerIn(annotations: Readonly<Record<string, string>>): LegacyIP['owner'] {
  const [namespace = '', name = '', ...more] = (annotations[OWNER_ANNOTATION] ?? '').split('/');
  const isNamed = namespace !== '' && name !== '' && more.length === 0;
  return isNamed ? { namespace, name, uid: annotations[OWNER_UID_ANNOTATION] ?? null } : null;
}

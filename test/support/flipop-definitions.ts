import { join } from 'node:path';
import type { KubeClient } from '../../simulator/kubernetes/client.ts';
import type { Json, JsonObject } from '../../simulator/kubernetes/objects.ts';
import { objectsIn } from './kube-apply.ts';
import { waitFor } from './wait-for.ts';

const CRDS = join(import.meta.dirname, '../../crds');

/** The fields that FLIPOP's own definitions have below `spec` and `status`. Servers drop all others. */
const FIELDS: Readonly<Record<string, { readonly spec: readonly string[]; readonly status: readonly string[] }>> = {
  'floatingippools.yaml': {
    spec: ['provider', 'region', 'desiredIPs', 'ips', 'assignmentCoolOffSeconds', 'dnsRecordSet', 'match'],
    status: ['error', 'ips', 'nodeErrors', 'assignableNodes'],
  },
  'nodednsrecordsets.yaml': { spec: ['provider', 'dnsRecordSet', 'addressType', 'match'], status: ['error', 'state'] },
};

/** Those of an address in `status.ips`. */
const OF_ADDRESS = ['state', 'nodeName', 'providerID', 'error'];

type Schema = JsonObject & { properties?: Record<string, Schema>; additionalProperties?: Schema };

const only = ({ properties = {} }: Schema, fields: readonly string[]): Record<string, Schema> =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => fields.includes(name)));

/** A definition of ours cut down to what FLIPOP's has: no added field, rule or column. */
function asFlipops(definition: JsonObject, { spec: ofSpec, status: ofStatus }: { spec: readonly string[]; status: readonly string[] }) {
  const copy = structuredClone(definition) as unknown as {
    spec: { versions: [JsonObject & { schema: { openAPIV3Schema: { properties: { spec: Schema; status: Schema } } } }] };
  };
  const [version] = copy.spec.versions;
  const { spec, status } = version.schema.openAPIV3Schema.properties;
  delete version.additionalPrinterColumns;
  delete spec['x-kubernetes-validations'];
  spec.properties = only(spec, ofSpec);
  status.properties = only(status, ofStatus);
  delete status.default;
  const address = status.properties.ips?.additionalProperties;
  if (address) {
    address.properties = only(address, OF_ADDRESS);
    delete address.required;
  }
  return copy.spec.versions as unknown as Json;
}

async function put(client: KubeClient, versionsOf: (file: string, definition: JsonObject) => Json): Promise<void> {
  for (const file of Object.keys(FIELDS)) {
    const [definition] = objectsIn(join(CRDS, file));
    if (!definition) throw new Error(`${file} holds no definition`);
    const ref = { apiVersion: definition.apiVersion, kind: definition.kind, name: definition.metadata.name };
    await client.patch(ref, { spec: { versions: versionsOf(file, definition as unknown as JsonObject) } });
  }
}

const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'tries-the-definition' };

/** Resolves once a server keeps the field `activeIPs` in the status of pools, or drops it: it takes a changed definition up a moment after it accepted it. */
async function untilStatusIs(client: KubeClient, kept: boolean): Promise<void> {
  const { name, namespace, ...type } = POOL;
  await client.create({ ...type, metadata: { name, namespace }, spec: { provider: 'nobody', desiredIPs: 1 } });
  let round = 0;
  const tried = async (): Promise<boolean> => {
    round += 1;
    const { status } = await client.patch(POOL, { status: { error: `try ${round}`, activeIPs: round } }, { subresource: 'status' });
    return ((status as { activeIPs?: number } | undefined)?.activeIPs === round) === kept;
  };
  await waitFor(`added fields are ${kept ? 'kept' : 'dropped'}`, tried, 30_000);
  await client.delete(POOL);
}

/** Puts FLIPOP's definitions in the place of ours, as a cluster has them to which only our operator came. */
export async function installFlipopsDefinitions(client: KubeClient): Promise<void> {
  await put(client, (file, definition) => asFlipops(definition, FIELDS[file] ?? { spec: [], status: [] }));
  await untilStatusIs(client, false);
}

/** Puts ours back. */
export async function installOurDefinitions(client: KubeClient): Promise<void> {
  await put(client, (_, definition) => (definition.spec as { versions: Json }).versions);
  await untilStatusIs(client, true);
}

import { fieldsOf, type ObservedServicePort } from '../../../machines/model/types.ts';
import { keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** A Service as the adapter keeps it. */
export interface SeenService {
  readonly name: string;
  readonly type: string;
  readonly ports: readonly ObservedServicePort[];
  /** It selects the Pods that back it. */
  readonly hasSelector: boolean;
  readonly isUnmanaged?: true;
}

/** With this annotation set to `false`, DigitalOcean's cloud controller opens no node port of a Service. */
const FIREWALL_MANAGED = 'kubernetes.digitalocean.com/firewall-managed';

const PROTOCOL = 'TCP';

const portNumber = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

const servicePortOf = (value: unknown): ObservedServicePort => {
  const { name, port, protocol, targetPort, nodePort } = fieldsOf(value);
  const own = portNumber(port) ?? 0;
  return {
    name: text(name),
    port: own,
    protocol: text(protocol) || PROTOCOL,
    targetPort: portNumber(targetPort) ?? (text(targetPort) || own),
    nodePort: portNumber(nodePort),
  };
};

/** A Service with the fields that decide where its address may be assigned and which ports must be open there. */
export const trimService = (object: unknown): Trimmed<SeenService> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { type, selector, ports } = fieldsOf(fieldsOf(object).spec);
  const value: SeenService = {
    name: meta.name,
    type: text(type) || 'ClusterIP',
    ports: list(ports).map(servicePortOf),
    hasSelector: Object.keys(fieldsOf(selector)).length > 0,
    ...(fieldsOf(fieldsOf(fieldsOf(object).metadata).annotations)[FIREWALL_MANAGED] === 'false' && { isUnmanaged: true as const }),
  };
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value };
};

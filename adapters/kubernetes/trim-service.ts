import type { ObservedBackend, ObservedContainerPort, ObservedServicePort } from '../../machines/types.ts';
import type { Intern } from './intern.ts';
import { fields, keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** A Service as the adapter keeps it. */
export interface SeenService {
  readonly name: string;
  readonly type: string;
  readonly ports: readonly ObservedServicePort[];
  /** Selects the Pods that back it, as a label selector; null when it selects none. */
  readonly selector: string | null;
}

const PROTOCOL = 'TCP';

const portNumber = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

/** As a label selector, the same text for the same selector. */
const selectorOf = (value: unknown): string | null => {
  const pairs = Object.entries(fields(value)).map(([key, wanted]) => `${key}=${text(wanted)}`);
  return pairs.length === 0 ? null : pairs.sort().join(',');
};

const servicePortOf = (value: unknown): ObservedServicePort => {
  const { name, port, protocol, targetPort, nodePort } = fields(value);
  const own = portNumber(port) ?? 0;
  return {
    name: text(name),
    port: own,
    protocol: text(protocol) || PROTOCOL,
    targetPort: portNumber(targetPort) ?? (text(targetPort) || own),
    nodePort: portNumber(nodePort),
  };
};

/** A Service with what decides where its address may go and what has to be open there. */
export const trimService = (object: unknown): Trimmed<SeenService> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { type, selector, ports } = fields(fields(object).spec);
  const value: SeenService = {
    name: meta.name,
    type: text(type) || 'ClusterIP',
    ports: list(ports).map(servicePortOf),
    selector: selectorOf(selector),
  };
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value };
};

const containerPortOf = (value: unknown): ObservedContainerPort => {
  const { name, containerPort, hostPort, protocol } = fields(value);
  return {
    name: text(name),
    containerPort: portNumber(containerPort) ?? 0,
    hostPort: portNumber(hostPort),
    protocol: text(protocol) || PROTOCOL,
  };
};

/** Of the init containers, only those that run on beside the others serve anything. */
const containersOf = ({ containers, initContainers }: Readonly<Record<string, unknown>>): readonly unknown[] => [
  ...list(containers),
  ...list(initContainers).filter((container) => fields(container).restartPolicy === 'Always'),
];

/** A Pod that backs a Service, with its ports alone: nothing of it changes while it exists. */
export const trimBackend = (object: unknown, shared: Intern): Trimmed<ObservedBackend> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const spec = fields(fields(object).spec);
  const ports = containersOf(spec).flatMap((container) => list(fields(container).ports).map(containerPortOf));
  const value: ObservedBackend = { name: meta.name, hostNetwork: spec.hostNetwork === true, ports: shared.list(ports) };
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value };
};

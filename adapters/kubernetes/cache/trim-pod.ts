import { fieldsOf, type ObservedContainerPort } from '../../../machines/model/types.ts';
import type { Intern } from './intern.ts';
import { conditionHolds, keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** A Pod as the adapter keeps it. There may be tens of thousands: namespace and name are stored only in the key. */
export interface SeenPod {
  readonly labels: Readonly<Record<string, string>>;
  /** Empty until scheduled. */
  readonly nodeName: string;
  /** Phase Running, condition Ready True, no deletionTimestamp. */
  readonly serving: boolean;
  readonly hostNetwork: boolean;
  /** Of all its containers. */
  readonly ports: readonly ObservedContainerPort[];
}

/** A Pod that has ended serves nothing, and never will. */
export const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

const containerPortOf = (value: unknown): ObservedContainerPort => {
  const { name, containerPort, hostPort, protocol } = fieldsOf(value);
  return {
    name: text(name),
    containerPort: portNumber(containerPort) ?? 0,
    hostPort: portNumber(hostPort),
    protocol: text(protocol) || 'TCP',
  };
};

const portNumber = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

/** Of the init containers, only sidecars (restartPolicy Always) serve anything. */
const containersOf = ({ containers, initContainers }: Readonly<Record<string, unknown>>): readonly unknown[] => [
  ...list(containers),
  ...list(initContainers).filter((container) => fieldsOf(container).restartPolicy === 'Always'),
];

/** A Pod with the fields that decide whether and where it serves. */
export const trimPod = (object: unknown, shared: Intern): Trimmed<SeenPod> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const spec = fieldsOf(fieldsOf(object).spec);
  const status = fieldsOf(fieldsOf(object).status);
  const value: SeenPod = {
    labels: shared.labels(meta.labels),
    nodeName: shared.text(text(spec.nodeName)),
    serving: status.phase === 'Running' && conditionHolds(status, 'Ready') && !meta.deleting,
    hostNetwork: spec.hostNetwork === true,
    ports: shared.list(containersOf(spec).flatMap((container) => list(fieldsOf(container).ports).map(containerPortOf))),
  };
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value };
};

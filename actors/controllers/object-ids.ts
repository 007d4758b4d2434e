import type { ObjectRef } from '../../machines/jobs.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { cellOf } from '../runtime/charts.ts';

/** First part of the ids of the actors that objects of a kind own. */
const PARTS: Readonly<Record<string, string>> = { FloatingIPPool: 'pool', RoutedIP: 'rip', NodeDNSRecordSet: 'dns' };

/** The actor that stands for an object: the pool of a FloatingIPPool, the pool of one of a RoutedIP, or a NodeDNSRecordSet's record set. */
export const actorOf = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): ActorId =>
  `${PARTS[kind]}/${namespace}/${name}`;

/** The kind of the object that an actor stands for. */
export const kindOf = (id: ActorId): string => Object.keys(PARTS).find((kind) => id.startsWith(`${PARTS[kind]}/`)) ?? '';

/** That object, as the log names it. */
export const objectOf = (id: ActorId): string => {
  const [, namespace, name] = cellOf(id).split('/');
  return `${kindOf(id)} ${namespace}/${name}`;
};

export const isPool = (id: ActorId): boolean => id.startsWith('pool/') || isRoutedIP(id);
export const isRoutedIP = (id: ActorId): boolean => id.startsWith('rip/');
export const isRecordSet = (id: ActorId): boolean => id.startsWith('dns/');

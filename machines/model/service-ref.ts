import { fieldsOf } from './types.ts';

/** The Service that a RoutedIP exposes. */
export interface ServiceRef {
  readonly namespace: string;
  /** Empty when the spec names none. */
  readonly name: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The Service named by the spec of a RoutedIP in `namespace`, even if the rest of the spec is invalid: it determines what has to be watched. */
export function serviceOf(namespace: string, spec: unknown): ServiceRef {
  const ref = fieldsOf(fieldsOf(spec).serviceRef);
  return { namespace: text(ref.namespace) || namespace, name: text(ref.serviceName) || text(ref.name) };
}

/** Identifies what has to be watched for a Service: the same text for the same Service. */
export const serviceQueryOf = (namespace: string, name: string): string => JSON.stringify(['service', namespace, name]);

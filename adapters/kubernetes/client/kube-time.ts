/** MicroTime, as in Leases and `events.k8s.io`. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

/** Time, as in all other objects: whole seconds. */
export const wholeSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** MicroTime, as Leases and `events.k8s.io` have it. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

/** Time, as all other objects have it: whole seconds. */
export const wholeSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

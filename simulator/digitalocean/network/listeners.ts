/** The programs that listen on droplets: each is a TCP server on a loopback port of this machine. */
export interface Listeners {
  readonly set: (dropletId: number, port: number, loopbackPort: number) => void;
  /** False when there was none. */
  readonly remove: (dropletId: number, port: number) => boolean;
  readonly find: (dropletId: number, port: number) => number | null;
  readonly list: () => readonly Listener[];
}

export interface Listener {
  readonly dropletId: number;
  readonly port: number;
  readonly loopbackPort: number;
}

export function createListeners(): Listeners {
  const listeners = new Map<string, Listener>();
  const keyOf = (dropletId: number, port: number): string => `${dropletId}/${port}`;
  return {
    set: (dropletId, port, loopbackPort) => void listeners.set(keyOf(dropletId, port), { dropletId, port, loopbackPort }),
    remove: (dropletId, port) => listeners.delete(keyOf(dropletId, port)),
    find: (dropletId, port) => listeners.get(keyOf(dropletId, port))?.loopbackPort ?? null,
    list: () => [...listeners.values()],
  };
}

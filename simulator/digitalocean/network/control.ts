import { integer, text } from '../../http/body.ts';
import { type ControlRoutes, done, nothingThere, ok, required } from '../../http/control.ts';
import { Refusal } from '../../http/refusal.ts';
import type { Network, OpenEndpoint } from './network.ts';

/** By which another process registers what listens on droplets, and learns which loopback port stands for a port of an address. */
export function networkRoutes(network: Network): ControlRoutes {
  const shown = ({ loopbackPort, ...endpoint }: OpenEndpoint): Record<string, unknown> => ({
    ...endpoint,
    loopback_port: loopbackPort,
    ...network.reach(endpoint),
  });
  return {
    'GET listeners': () => ok({ listeners: network.listeners.list() }),
    'POST listeners': ({ body }) => {
      const [dropletId, port, loopbackPort] = ['droplet_id', 'port', 'loopback_port'].map((name) => wanted(integer(body, name), name));
      network.listeners.set(Number(dropletId), Number(port), Number(loopbackPort));
      return done;
    },
    'DELETE listeners': ({ rest: [dropletId, port] }) => {
      if (!network.listeners.remove(Number(dropletId), Number(port))) throw nothingThere();
      return done;
    },
    'GET endpoints': () => ok({ endpoints: network.endpoints().map(shown) }),
    'POST endpoints': async ({ body }) => {
      const address = required(text(body, 'address'), 'address');
      const port = wanted(integer(body, 'port'), 'port');
      return ok({ endpoint: shown(await network.endpoint({ address, port, from: text(body, 'from') })) }, 201);
    },
  };
}

/** @throws Refusal 400 without it, or when it is no number of a port or a droplet */
function wanted(value: number | undefined, name: string): number {
  if (value === undefined || value < 1) throw new Refusal(400, `${name} is required.`);
  return value;
}

import { type Fields, flag, integer, text } from '../http/body.ts';
import { type ControlReply, type ControlRequest, type ControlRoutes, commonRoutes, done, ok, required } from '../http/control.ts';
import { moveByHand, placeAddress, placePrefix } from './addresses.ts';
import { texts } from './body.ts';
import type { CallLog } from './call-log.ts';
import type { Cloud } from './cloud.ts';
import { placeDroplet, removeDroplet } from './droplets.ts';
import { effectReaders, type Faults } from './faults.ts';
import { setHanging } from './firewall-policy.ts';
import { networkRoutes } from './network/control.ts';
import type { Network } from './network/network.ts';
import { tagDroplet, untagDroplet } from './tags.ts';

export interface ControlParts {
  readonly cloud: Cloud;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly network: Network;
}

export const controlRoutes = ({ cloud, faults, log, network }: ControlParts): ControlRoutes => ({
  ...commonRoutes(log, faults, effectReaders),
  ...networkRoutes(network),
  'GET state': () => ok(stateOf(cloud)),
  'POST droplets': ({ body }) => {
    const { name, region } = { name: wanted(body, 'name'), region: wanted(body, 'region') };
    const more = { tags: texts(body, 'tags'), ipv6: flag(body, 'ipv6') };
    return ok({ droplet: placeDroplet(cloud, { id: integer(body, 'id'), name, region, ...more }) }, 201);
  },
  'PUT tags': ({ rest: [tag = '', id] }) => {
    tagDroplet(cloud, Number(id), tag);
    return done;
  },
  'DELETE tags': ({ rest: [tag = '', id] }) => {
    untagDroplet(cloud, Number(id), tag);
    return done;
  },
  'DELETE droplets': ({ rest }) => {
    removeDroplet(cloud, Number(rest[0]));
    return done;
  },
  'POST byoip_prefixes': ({ body }) => {
    const wish = { prefix: wanted(body, 'prefix'), region: wanted(body, 'region'), status: text(body, 'status') ?? 'active' };
    return ok({ byoip_prefix: placePrefix(cloud, wish) }, 201);
  },
  'PUT hanging_firewalls': ({ rest, body }) => {
    const status = text(body, 'status');
    setHanging(cloud, Number(rest[0]), status === 'waiting' || status === 'failed' ? status : null);
    return done;
  },
  'POST reserved_ips': (request) => (request.rest[1] === 'move' ? move(cloud, request) : addAddress(cloud, request)),
});

const wanted = (body: Fields, name: string): string => required(text(body, name), name);

/** A droplet id under either spelling; null for none. */
function dropletIn(body: Fields): number | null {
  return integer(body, 'dropletId') ?? integer(body, 'droplet_id') ?? null;
}

function addAddress(cloud: Cloud, { body }: ControlRequest): ControlReply {
  const ip = text(body, 'ip');
  const family = integer(body, 'family') === 6 ? 6 : 4;
  const address = placeAddress(cloud, { ip, region: wanted(body, 'region'), family, dropletId: dropletIn(body) });
  return ok({ reserved_ip: address }, 201);
}

function move(cloud: Cloud, { rest, body }: ControlRequest): ControlReply {
  moveByHand(cloud, rest[0] ?? '', dropletIn(body));
  return ok({ reserved_ip: cloud.reservedIPs.get(rest[0] ?? '') });
}

/** All of the account, with the history of every address. */
function stateOf(cloud: Cloud): Record<string, unknown> {
  return {
    now: cloud.now(),
    droplets: [...cloud.droplets.values()],
    reserved_ips: [...cloud.reservedIPs.values()],
    deleted_reserved_ips: cloud.deletedIPs,
    actions: [...cloud.actions.values()],
    domains: [...cloud.domains.values()].map((domain) => ({ ...domain, records: [...domain.records.values()] })),
    firewalls: [...cloud.firewalls.values()],
  };
}

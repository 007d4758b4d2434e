import { findAddress, removeAddress, reserve, startAssignment, viewAt } from '../addresses.ts';
import { fieldsOf, text } from '../body.ts';
import type { ReservedIP } from '../model.ts';
import { unprocessable } from '../refusal.ts';
import { isoTime, present, renderAction, renderReservedIPv6 } from '../render.ts';
import { noContent, ok, page } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';
import { wantedHolder } from './reserved-ips.ts';

const label = 'reserved IPv6';

const one = (request: RouteRequest): ReservedIP => findAddress(request.cloud, param(request, 'ip'), 6);

function shown(request: RouteRequest, address: ReservedIP): Record<string, unknown> {
  const past = request.readAt === null ? null : viewAt(request.cloud, address, request.readAt);
  return renderReservedIPv6(request.cloud, address, past ?? present(address));
}

/** The IPv6 twins have neither `locked` nor a list of actions in the published description. */
export const reservedIPv6Routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/reserved_ipv6',
    handle: (request) => {
      const addresses = [...request.cloud.reservedIPs.values()].filter((address) => address.family === 6);
      return page(
        request.url,
        'reserved_ipv6s',
        addresses.map((address) => shown(request, address)),
      );
    },
  },
  {
    method: 'POST',
    path: '/v2/reserved_ipv6',
    handle: ({ cloud, body }) => {
      const region = text(fieldsOf(body), 'region_slug');
      if (region === undefined) throw unprocessable('region_slug is required.');
      const address = reserve(cloud, region, 6, label);
      return ok({ reserved_ipv6: { ip: address.ip, region_slug: region, reserved_at: isoTime(address.createdAt) } }, 201);
    },
  },
  { method: 'GET', path: '/v2/reserved_ipv6/:ip', handle: (request) => ok({ reserved_ipv6: shown(request, one(request)) }) },
  {
    method: 'DELETE',
    path: '/v2/reserved_ipv6/:ip',
    handle: (request) => {
      removeAddress(request.cloud, one(request), label);
      return noContent;
    },
  },
  {
    method: 'POST',
    path: '/v2/reserved_ipv6/:ip/actions',
    handle: (request) =>
      ok({ action: renderAction(startAssignment(request.cloud, one(request), wantedHolder(request.body), label, request.bend)) }, 201),
  },
];

import { fieldsOf, text } from '../../http/body.ts';
import { findAddress, removeAddress, reserve, startAssignment } from '../addresses.ts';
import type { ReservedIP } from '../model.ts';
import { unprocessable } from '../refusal.ts';
import { isoTime, renderAction, renderReservedIPv6 } from '../render.ts';
import { noContent, ok, page } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';
import { readAll, readOne } from './reading.ts';
import { wantedHolder } from './reserved-ips.ts';

const label = 'reserved IPv6';

const one = (request: RouteRequest): ReservedIP => findAddress(request.cloud, param(request, 'ip'), 6);

/** By the published description the IPv6 twins have no `locked`, are created in a region only, and their actions are read under /v2/actions alone. */
export const reservedIPv6Routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/reserved_ipv6',
    handle: (request) => page(request.url, 'reserved_ipv6s', readAll(request, 6), (shown) => renderReservedIPv6(request.cloud, ...shown)),
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
  {
    method: 'GET',
    path: '/v2/reserved_ipv6/:ip',
    handle: (request) => ok({ reserved_ipv6: readOne(request, 6, renderReservedIPv6) }),
  },
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

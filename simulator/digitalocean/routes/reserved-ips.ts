import { fieldsOf, integer, text } from '../../http/body.ts';
import { findAddress, findAssignable, heldBy, removeAddress, reserve, startAssignment } from '../addresses.ts';
import type { Cloud } from '../cloud.ts';
import type { Action, ReservedIP } from '../model.ts';
import { dropletPending, notFound, unprocessable } from '../refusal.ts';
import { present, renderAction, renderReservedIP } from '../render.ts';
import { noContent, ok, page, type Reply } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';
import { readAll, readOne } from './reading.ts';

/** Reserved IPs have a second, deprecated set of paths with the old name; the rest is the same. */
interface Naming {
  readonly path: string;
  readonly one: string;
  readonly many: string;
  readonly label: string;
  readonly resourceType: string;
}

const reserved: Naming = {
  path: '/v2/reserved_ips',
  one: 'reserved_ip',
  many: 'reserved_ips',
  label: 'reserved IP',
  resourceType: 'reserved_ip',
};
const floating: Naming = {
  path: '/v2/floating_ips',
  one: 'floating_ip',
  many: 'floating_ips',
  label: 'floating IP',
  resourceType: 'floating_ip',
};

function list(request: RouteRequest, naming: Naming): Reply {
  return page(request.url, naming.many, readAll(request, 4), (shown) => renderReservedIP(request.cloud, ...shown));
}

function get(request: RouteRequest, naming: Naming): Reply {
  return ok({ [naming.one]: readOne(request, 4, renderReservedIP) });
}

function create(request: RouteRequest, naming: Naming): Reply {
  const { cloud } = request;
  const fields = fieldsOf(request.body);
  const dropletId = integer(fields, 'droplet_id');
  const region = text(fields, 'region');
  if (dropletId !== undefined && region !== undefined) {
    throw unprocessable('Cannot specify Droplet and region, they are mutually exclusive.');
  }
  if (dropletId !== undefined) return createAssigned(request, naming, dropletId);
  if (region === undefined) throw unprocessable('Must specify either a Droplet or a region.');
  const address = reserve(cloud, region, 4, naming.label);
  return ok({ [naming.one]: renderReservedIP(cloud, address, present(address)), links: {} }, 202);
}

function createAssigned(request: RouteRequest, naming: Naming, dropletId: number): Reply {
  const { cloud } = request;
  const droplet = cloud.droplets.get(dropletId);
  if (droplet === undefined) throw notFound();
  // Checked before reserving: a refused creation must leave no address behind.
  if (heldBy(cloud, dropletId, 4) !== undefined) throw unprocessable(`Droplet already has a ${naming.label}.`);
  if ([...cloud.pendingActions].some((action) => action.dropletId === dropletId)) throw dropletPending();
  const address = reserve(cloud, droplet.region, 4, naming.label);
  const action = startAssignment(cloud, address, dropletId, naming.label, request.bend);
  const links = {
    droplets: [{ id: dropletId, rel: 'droplet', href: `${request.url.origin}/v2/droplets/${dropletId}` }],
    actions: [{ id: action.id, rel: 'assign_ip', href: `${request.url.origin}/v2/actions/${action.id}` }],
  };
  return ok({ [naming.one]: renderReservedIP(cloud, address, present(address)), links }, 202);
}

function destroy(request: RouteRequest, naming: Naming): Reply {
  removeAddress(request.cloud, findAddress(request.cloud, param(request, 'ip'), 4), naming.label);
  return noContent;
}

function withProject(action: Action, address: ReservedIP, naming: Naming): Record<string, unknown> {
  return { ...renderAction(action, naming.resourceType), project_id: address.projectId };
}

function act(request: RouteRequest, naming: Naming): Reply {
  const dropletId = wantedHolder(request.body);
  const ip = param(request, 'ip');
  const address = dropletId === null ? findAddress(request.cloud, ip, 4) : findAssignable(request.cloud, ip);
  const action = startAssignment(request.cloud, address, dropletId, naming.label, request.bend);
  return ok({ action: withProject(action, address, naming) }, 201);
}

/** The droplet that an `assign` names, or null for `unassign`. */
export function wantedHolder(body: unknown): number | null {
  const fields = fieldsOf(body);
  const type = text(fields, 'type');
  if (type === 'unassign') return null;
  if (type !== 'assign') throw unprocessable('The action type must be assign or unassign.');
  const dropletId = integer(fields, 'droplet_id');
  if (dropletId === undefined) throw unprocessable('droplet_id must be an integer.');
  return dropletId;
}

function actionsOf(cloud: Cloud, address: ReservedIP): Action[] {
  return address.actionIds
    .map((id) => cloud.actions.get(id))
    .filter((action) => action !== undefined)
    .reverse();
}

function listActions(request: RouteRequest, naming: Naming): Reply {
  const address = findAddress(request.cloud, param(request, 'ip'), 4);
  const items = request.actionsHidden ? [] : actionsOf(request.cloud, address);
  return page(
    request.url,
    'actions',
    items.map((action) => renderAction(action, naming.resourceType)),
  );
}

function getAction(request: RouteRequest, naming: Naming): Reply {
  const address = findAddress(request.cloud, param(request, 'ip'), 4);
  const action = request.cloud.actions.get(Number(param(request, 'id')));
  if (request.actionsHidden || action === undefined || !address.actionIds.includes(action.id)) throw notFound();
  return ok({ action: withProject(action, address, naming) });
}

const routesFor = (naming: Naming): Route[] => [
  { method: 'GET', path: naming.path, handle: (request) => list(request, naming) },
  { method: 'POST', path: naming.path, handle: (request) => create(request, naming) },
  { method: 'GET', path: `${naming.path}/:ip`, handle: (request) => get(request, naming) },
  { method: 'DELETE', path: `${naming.path}/:ip`, handle: (request) => destroy(request, naming) },
  { method: 'GET', path: `${naming.path}/:ip/actions`, handle: (request) => listActions(request, naming) },
  { method: 'POST', path: `${naming.path}/:ip/actions`, handle: (request) => act(request, naming) },
  { method: 'GET', path: `${naming.path}/:ip/actions/:id`, handle: (request) => getAction(request, naming) },
];

export const reservedIPRoutes: readonly Route[] = [...routesFor(reserved), ...routesFor(floating)];

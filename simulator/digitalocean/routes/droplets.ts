import { type Fields, fieldsOf, flag, text } from '../../http/body.ts';
import { texts } from '../body.ts';
import { createDroplet, removeDroplet } from '../droplets.ts';
import { renderFirewall } from '../firewalls.ts';
import type { Droplet } from '../model.ts';
import { notFound, unprocessable } from '../refusal.ts';
import { renderDroplet } from '../render.ts';
import { noContent, ok, page, type Reply } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';

const maxAtOnce = 10;

function find(request: RouteRequest): Droplet {
  const droplet = request.cloud.droplets.get(Number(param(request, 'id')));
  if (droplet === undefined) throw notFound();
  return droplet;
}

function list(request: RouteRequest): Reply {
  const tag = request.url.searchParams.get('tag_name');
  const name = request.url.searchParams.get('name');
  const droplets = [...request.cloud.droplets.values()]
    .filter((droplet) => tag === null || droplet.tags.includes(tag))
    .filter((droplet) => name === null || droplet.name === name);
  return page(request.url, 'droplets', droplets, (droplet) => renderDroplet(request.cloud, droplet));
}

function firewalls(request: RouteRequest): Reply {
  const { cloud, url } = request;
  const { id } = find(request);
  const covering = [...cloud.firewalls.values()].filter((firewall) => firewall.members.includes(id));
  return page(
    url,
    'firewalls',
    covering.map((firewall) => renderFirewall(cloud, firewall)),
  );
}

function required(fields: Fields, name: string): string {
  const value = text(fields, name) ?? (typeof fields[name] === 'number' ? String(fields[name]) : undefined);
  if (value === undefined) throw unprocessable(`${name} is required.`);
  return value;
}

function create(request: RouteRequest): Reply {
  const { cloud } = request;
  const fields = fieldsOf(request.body);
  const names = texts(fields, 'names');
  if (names !== undefined && (names.length === 0 || names.length > maxAtOnce))
    throw unprocessable('Up to 10 Droplets can be created at a time.');
  const common = {
    size: required(fields, 'size'),
    image: required(fields, 'image'),
    region: text(fields, 'region') ?? [...cloud.regions][0] ?? 'nyc3',
    tags: texts(fields, 'tags') ?? [],
    ipv6: flag(fields, 'ipv6') ?? false,
  };
  const made = (names ?? [required(fields, 'name')]).map((name) => createDroplet(cloud, { ...common, name }));
  const actions = made.map(({ action }) => ({ id: action.id, rel: 'create', href: `${request.url.origin}/v2/actions/${action.id}` }));
  const droplets = made.map(({ droplet }) => renderDroplet(cloud, droplet));
  return ok(names === undefined ? { droplet: droplets[0], links: { actions } } : { droplets, links: { actions } }, 202);
}

export const dropletRoutes: readonly Route[] = [
  { method: 'GET', path: '/v2/droplets', handle: list },
  { method: 'POST', path: '/v2/droplets', handle: create },
  { method: 'GET', path: '/v2/droplets/:id', handle: (request) => ok({ droplet: renderDroplet(request.cloud, find(request)) }) },
  { method: 'GET', path: '/v2/droplets/:id/firewalls', handle: firewalls },
  {
    method: 'DELETE',
    path: '/v2/droplets/:id',
    handle: (request) => {
      removeDroplet(request.cloud, find(request).id);
      return noContent;
    },
  },
];

import { type Fields, fieldsOf, isFields, text } from '../../http/body.ts';
import { list } from '../body.ts';
import { notFound, unprocessable } from '../refusal.ts';
import { noContent, ok, page } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';
import { createTag, findTag, renderTag, tagDroplet, untagDroplet } from '../tags.ts';

const one = (request: RouteRequest): string => findTag(request.cloud, param(request, 'name'));

/** The droplets of a body such as `{"resources": [{"resource_id": "1", "resource_type": "droplet"}]}`. */
function dropletsIn(request: RouteRequest): readonly number[] {
  const resources = list(fieldsOf(request.body), 'resources');
  if (resources === undefined) throw unprocessable('resources is required.');
  return resources.filter(isFields).map(dropletIn);
}

function dropletIn(resource: Fields): number {
  const id = Number(text(resource, 'resource_id') ?? Number.NaN);
  if (text(resource, 'resource_type') !== 'droplet' || !Number.isInteger(id)) throw notFound();
  return id;
}

export const tagRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/tags',
    handle: ({ cloud, url }) =>
      page(
        url,
        'tags',
        [...cloud.tags].map((name) => renderTag(cloud, name)),
      ),
  },
  {
    method: 'POST',
    path: '/v2/tags',
    handle: ({ cloud, body }) => {
      const name = text(fieldsOf(body), 'name') ?? '';
      createTag(cloud, name);
      return ok({ tag: renderTag(cloud, name) }, 201);
    },
  },
  { method: 'GET', path: '/v2/tags/:name', handle: (request) => ok({ tag: renderTag(request.cloud, one(request)) }) },
  {
    method: 'POST',
    path: '/v2/tags/:name/resources',
    handle: (request) => {
      const name = one(request);
      for (const id of dropletsIn(request)) tagDroplet(request.cloud, id, name);
      return noContent;
    },
  },
  {
    method: 'DELETE',
    path: '/v2/tags/:name/resources',
    handle: (request) => {
      const name = one(request);
      for (const id of dropletsIn(request)) untagDroplet(request.cloud, id, name);
      return noContent;
    },
  },
];

import { createDomain, createRecord, findDomain, findRecord, fullName, removeRecord, renderDomain, updateRecord } from '../domains.ts';
import type { Domain, DomainRecord } from '../model.ts';
import { noContent, ok, page, type Reply } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';

const domainOf = (request: RouteRequest): Domain => findDomain(request.cloud, param(request, 'name'));
const recordOf = (request: RouteRequest): DomainRecord => findRecord(domainOf(request), Number(param(request, 'id')));

function listRecords(request: RouteRequest): Reply {
  const domain = domainOf(request);
  const name = request.url.searchParams.get('name');
  const type = request.url.searchParams.get('type');
  const records = [...domain.records.values()]
    .filter((record) => name === null || fullName(record, domain) === name)
    .filter((record) => type === null || record.type === type);
  return page(request.url, 'domain_records', records);
}

const update = (request: RouteRequest): Reply => ok({ domain_record: updateRecord(domainOf(request), recordOf(request), request.body) });

export const domainRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/domains',
    handle: ({ cloud, url }) =>
      page(
        url,
        'domains',
        [...cloud.domains.values()].map((domain) => renderDomain(domain, 'known')),
      ),
  },
  {
    method: 'POST',
    path: '/v2/domains',
    handle: ({ cloud, body }) => ok({ domain: renderDomain(createDomain(cloud, body), 'fresh') }, 201),
  },
  { method: 'GET', path: '/v2/domains/:name', handle: (request) => ok({ domain: renderDomain(domainOf(request), 'known') }) },
  {
    method: 'DELETE',
    path: '/v2/domains/:name',
    handle: (request) => {
      request.cloud.domains.delete(domainOf(request).name);
      return noContent;
    },
  },
  { method: 'GET', path: '/v2/domains/:name/records', handle: listRecords },
  {
    method: 'POST',
    path: '/v2/domains/:name/records',
    handle: (request) => ok({ domain_record: createRecord(request.cloud, domainOf(request), request.body) }, 201),
  },
  { method: 'GET', path: '/v2/domains/:name/records/:id', handle: (request) => ok({ domain_record: recordOf(request) }) },
  { method: 'PUT', path: '/v2/domains/:name/records/:id', handle: update },
  { method: 'PATCH', path: '/v2/domains/:name/records/:id', handle: update },
  {
    method: 'DELETE',
    path: '/v2/domains/:name/records/:id',
    handle: (request) => {
      removeRecord(domainOf(request), recordOf(request));
      return noContent;
    },
  },
];

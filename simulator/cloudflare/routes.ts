import type { Account, Rights, Zone } from './model.ts';
import { changeRecord, createRecord, exportZone, findRecord, renderRecord, replaceRecord } from './records.ts';
import { forbidden, forbiddenZone, methodNotAllowed, noRoute } from './refusal.ts';
import { page, type Reply, result } from './reply.ts';
import { findZone, renderZone } from './zones.ts';

/** One request as a route sees it. */
export interface RouteRequest {
  readonly account: Account;
  readonly rights: Rights;
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
}

const root = '/client/v4';
const zoneSizes = { fallback: 20, max: 50 };
const recordSizes = { fallback: 100, max: 5000 };

/** Answers what the published description (api-schemas of Cloudflare) has of zones and their DNS records. @throws Refusal */
export function route(request: RouteRequest): Reply {
  const { pathname } = request.url;
  const [noun, zoneId, part, recordId, ...rest] = pathname.startsWith(`${root}/`) ? pathname.slice(root.length + 1).split('/') : [];
  if (noun !== 'zones' || rest.length > 0) throw noRoute(pathname, 404);
  if (zoneId === undefined) return zones(request);
  if (part === undefined) return oneZone(request, zoneId);
  if (part !== 'dns_records') throw noRoute(pathname, 404);
  if (recordId === undefined) return records(request, zoneId);
  return recordId === 'export' ? exported(request, zoneId) : oneRecord(request, zoneId, recordId);
}

function zones({ account, rights, method, url }: RouteRequest): Reply {
  if (method !== 'GET') throw methodNotAllowed(method);
  const name = url.searchParams.get('name');
  const status = url.searchParams.get('status');
  // A token that may read no zone is shown none, without an error.
  const found = [...account.zones.values()]
    .filter(() => rights.zoneRead)
    .filter((zone) => name === null || zone.name === name)
    .filter((zone) => status === null || zone.status === status);
  return page(url, found.map(renderZone), zoneSizes);
}

function oneZone({ account, rights, method, url }: RouteRequest, id: string): Reply {
  if (method !== 'GET') throw methodNotAllowed(method);
  const zone = findZone(account, id, url.pathname);
  if (!rights.zoneRead) throw forbiddenZone();
  return result(renderZone(zone));
}

function records(request: RouteRequest, zoneId: string): Reply {
  const { account, method, url, body } = request;
  const zone = zoneOf(request, zoneId);
  switch (method) {
    case 'GET':
      return page(url, matching(zone, url.searchParams).map(renderRecord), recordSizes);
    case 'POST':
      return result(renderRecord(createRecord(account, zone, body)));
    default:
      throw methodNotAllowed(method);
  }
}

function matching(zone: Zone, wanted: URLSearchParams) {
  const type = wanted.get('type');
  const name = wanted.get('name') ?? wanted.get('name.exact');
  const content = wanted.get('content') ?? wanted.get('content.exact');
  return [...zone.records.values()]
    .filter((record) => type === null || record.type === type)
    .filter((record) => name === null || record.name === name.toLowerCase())
    .filter((record) => content === null || record.content === content);
}

function oneRecord(request: RouteRequest, zoneId: string, recordId: string): Reply {
  const { account, method, url, body } = request;
  const zone = zoneOf(request, zoneId);
  if (!/^[0-9a-f]{32}$/.test(recordId)) throw noRoute(url.pathname, 400);
  const record = findRecord(zone, recordId);
  switch (method) {
    case 'GET':
      return result(renderRecord(record));
    case 'PUT':
      return result(renderRecord(replaceRecord(account, zone, record, body)));
    case 'PATCH':
      return result(renderRecord(changeRecord(account, zone, record, body)));
    case 'DELETE':
      zone.records.delete(record.id);
      return result({ id: record.id });
    default:
      throw methodNotAllowed(method);
  }
}

function exported(request: RouteRequest, zoneId: string): Reply {
  if (request.method !== 'GET') throw methodNotAllowed(request.method);
  return { kind: 'text', text: exportZone(zoneOf(request, zoneId), request.account.now()) };
}

/** The zone, provided the token may do with its records what the method does. */
function zoneOf({ account, rights, method, url }: RouteRequest, id: string): Zone {
  const zone = findZone(account, id, url.pathname);
  if (method === 'GET' ? !rights.dnsRead : !rights.dnsWrite) throw forbidden();
  return zone;
}

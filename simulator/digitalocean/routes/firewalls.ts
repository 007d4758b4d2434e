import { fieldsOf } from '../../http/body.ts';
import { integers, texts } from '../body.ts';
import { parseRules, type Rules, withoutRules, withRules } from '../firewall-rules.ts';
import {
  changeContent,
  createFirewall,
  type FirewallContent,
  findFirewall,
  parseContent,
  renderFirewall,
  replaceContent,
} from '../firewalls.ts';
import { unprocessable } from '../refusal.ts';
import { noContent, ok, page, type Reply } from '../reply.ts';
import { param, type Route, type RouteRequest } from '../router.ts';

const one = (request: RouteRequest) => findFirewall(request.cloud, param(request, 'id'));

function change(request: RouteRequest, part: (content: FirewallContent) => Partial<FirewallContent>): Reply {
  changeContent(request.cloud, one(request), part);
  return noContent;
}

function rulesIn(request: RouteRequest): Rules {
  const rules = parseRules(fieldsOf(request.body));
  if (rules.inboundRules.length + rules.outboundRules.length === 0) throw unprocessable('inbound_rules or outbound_rules is required.');
  return rules;
}

function dropletsIn(request: RouteRequest): number[] {
  const ids = integers(fieldsOf(request.body), 'droplet_ids');
  if (ids === undefined) throw unprocessable('droplet_ids is required.');
  return ids;
}

function tagsIn(request: RouteRequest): string[] {
  const tags = texts(fieldsOf(request.body), 'tags');
  if (tags === undefined) throw unprocessable('tags is required.');
  return tags;
}

const rulesRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/firewalls/:id/rules',
    handle: (request) => {
      const { inboundRules, outboundRules } = rulesIn(request);
      return change(request, (content) => ({
        inboundRules: withRules(content.inboundRules, inboundRules),
        outboundRules: withRules(content.outboundRules, outboundRules),
      }));
    },
  },
  {
    method: 'DELETE',
    path: '/v2/firewalls/:id/rules',
    handle: (request) => {
      const { inboundRules, outboundRules } = rulesIn(request);
      return change(request, (content) => ({
        inboundRules: withoutRules(content.inboundRules, inboundRules),
        outboundRules: withoutRules(content.outboundRules, outboundRules),
      }));
    },
  },
];

const memberRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/firewalls/:id/droplets',
    handle: (request) => change(request, (content) => ({ dropletIds: [...content.dropletIds, ...dropletsIn(request)] })),
  },
  {
    method: 'DELETE',
    path: '/v2/firewalls/:id/droplets',
    handle: (request) => {
      const gone = dropletsIn(request);
      return change(request, (content) => ({ dropletIds: content.dropletIds.filter((id) => !gone.includes(id)) }));
    },
  },
  {
    method: 'POST',
    path: '/v2/firewalls/:id/tags',
    handle: (request) => change(request, (content) => ({ tags: [...content.tags, ...tagsIn(request)] })),
  },
  {
    method: 'DELETE',
    path: '/v2/firewalls/:id/tags',
    handle: (request) => {
      const gone = tagsIn(request);
      return change(request, (content) => ({ tags: content.tags.filter((tag) => !gone.includes(tag)) }));
    },
  },
];

export const firewallRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/firewalls',
    handle: ({ cloud, url }) =>
      page(
        url,
        'firewalls',
        [...cloud.firewalls.values()].map((firewall) => renderFirewall(cloud, firewall)),
      ),
  },
  {
    method: 'POST',
    path: '/v2/firewalls',
    handle: ({ cloud, body }) => ok({ firewall: renderFirewall(cloud, createFirewall(cloud, parseContent(body))) }, 202),
  },
  { method: 'GET', path: '/v2/firewalls/:id', handle: (request) => ok({ firewall: renderFirewall(request.cloud, one(request)) }) },
  {
    method: 'PUT',
    path: '/v2/firewalls/:id',
    handle: (request) => {
      const firewall = one(request);
      replaceContent(request.cloud, firewall, parseContent(request.body));
      return ok({ firewall: renderFirewall(request.cloud, firewall) });
    },
  },
  {
    method: 'DELETE',
    path: '/v2/firewalls/:id',
    handle: (request) => {
      request.cloud.firewalls.delete(one(request).id);
      return noContent;
    },
  },
  ...rulesRoutes,
  ...memberRoutes,
];

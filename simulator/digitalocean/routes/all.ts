import type { Route } from '../router.ts';
import { accountRoutes } from './account.ts';
import { actionRoutes } from './actions.ts';
import { domainRoutes } from './domains.ts';
import { dropletRoutes } from './droplets.ts';
import { firewallRoutes } from './firewalls.ts';
import { reservedIPRoutes } from './reserved-ips.ts';
import { reservedIPv6Routes } from './reserved-ipv6.ts';
import { tagRoutes } from './tags.ts';

export const allRoutes: readonly Route[] = [
  ...reservedIPRoutes,
  ...reservedIPv6Routes,
  ...actionRoutes,
  ...dropletRoutes,
  ...domainRoutes,
  ...firewallRoutes,
  ...tagRoutes,
  ...accountRoutes,
];

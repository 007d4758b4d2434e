import { ok, page } from '../reply.ts';
import type { Route } from '../router.ts';

/** In which the account puts what nobody has put elsewhere. */
const PROJECT = '00000000-0000-4000-8000-00000000000f';

export const accountRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/byoip_prefixes',
    handle: ({ url, cloud }) => {
      const shown = cloud.prefixes.map((prefix) => ({
        ...prefix,
        validations: [],
        failure_reason: '',
        locked: false,
        advertised: prefix.status === 'active',
        project_id: PROJECT,
      }));
      return page(url, 'byoip_prefixes', shown);
    },
  },
  {
    method: 'GET',
    path: '/v2/account',
    handle: (request) =>
      ok({
        account: {
          droplet_limit: 100,
          floating_ip_limit: request.cloud.reservedIPQuota,
          email: 'operator@example.com',
          name: 'Simulated Account',
          uuid: '0f0e0d0c0b0a09080706050403020100',
          email_verified: true,
          status: 'active',
          status_message: '',
          team: { uuid: '00112233445566778899aabbccddeeff', name: 'Simulated Team' },
        },
      }),
  },
];

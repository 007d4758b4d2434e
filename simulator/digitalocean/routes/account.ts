import { ok } from '../reply.ts';
import type { Route } from '../router.ts';

export const accountRoutes: readonly Route[] = [
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

import { expect, test } from 'vitest';
import { namespacesFor } from '../../../actors/jobs/owner.ts';

test.each([
  ['rip/web/shop/203.0.113.7', {}, ['web']],
  ['pool/web/ingress', { sets: [{ claimant: 'pool/other/records' }] }, ['web']],
  [
    'firewall/digitalocean/edge',
    { claimants: ['rip/web/a/203.0.113.7', 'rip/shop/b/203.0.113.8', 'rip/web/c/203.0.113.9'] },
    ['web', 'shop'],
  ],
  ['firewall/digitalocean/edge', { claimants: [] }, []],
  ['zone/digitalocean/example.com', { sets: [{ claimant: 'dns/web/nodes' }, { claimant: 'pool/shop/ingress/records' }] }, ['web', 'shop']],
  ['verify/digitalocean', { provider: 'digitalocean' }, []],
])('a job of %s that is asked for with %j is for the sake of %j', (actor, input, namespaces) => {
  expect(namespacesFor(actor, input)).toEqual(namespaces);
});

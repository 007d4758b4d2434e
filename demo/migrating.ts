import { at, type KubeObject } from '../simulator/kubernetes/objects.ts';
import type { Cast, Moment } from './cast.ts';
import { watchExposure } from './exposure.ts';
import { DemoFailure } from './failure.ts';
import { watch } from './follow.ts';
import type { Part } from './routing.ts';
import { OWNER } from './service-view.ts';
import { FORMER_GROUP_MANIFEST, SERVICES_NAMESPACE, VIRTUAL_IP_MANIFEST } from './stage.ts';
import { now, span } from './time.ts';

const FORUM = { namespace: SERVICES_NAMESPACE, name: 'forum' };
const VIRTUAL_IP = { apiVersion: 'paas.org/v1', kind: 'VirtualIP', ...FORUM };
const SERVICE = { apiVersion: 'v1', kind: 'Service', ...FORUM };

/** A VirtualIP of the former allocator moves to its Service, which keeps the address; somebody exposes it all the time. @throws DemoFailure when nobody does */
export async function migrate(cast: Cast): Promise<Part> {
  const { stage, screen, until } = cast;
  const base = stage.kubernetes.url;
  const states: Moment[] = [];
  const following = watch(`${base}/apis/paas.org/v1/namespaces/${SERVICES_NAMESPACE}/virtualips`, (_, object, seenAt) => {
    const what = stateOf(object);
    if (what === '' || what === states.at(-1)?.what) return;
    states.push({ what, at: seenAt });
    screen.note(`VirtualIP ${object.metadata.name} is ${what}`);
  });
  try {
    await stage.apply(VIRTUAL_IP_MANIFEST);
    screen.step('a VirtualIP of the former allocator exposes the Service forum by a copy of it');
    const address = await until('the VirtualIP is Valid', () => validAddress(cast));
    const exposure = watchExposure(`${base}/api/v1/namespaces/${SERVICES_NAMESPACE}/services`, address);
    try {
      await until('its copy is seen', () => exposure.by().length > 0 || null);
      await stage.apply(FORMER_GROUP_MANIFEST);
      screen.step(
        `${exposure.by().join()} exposes ${address}; the IPGroup that \`migrate gsm\` prints is applied, and the VirtualIP annotated`,
      );
      const asked = { what: 'VirtualIP annotated', at: now() };
      await stage.client.patch(VIRTUAL_IP, { metadata: { annotations: { 'virtualips.paas.org/migrate': '' } } });
      await until('the VirtualIP is Migrated', () => states.at(-1)?.what === 'Migrated' || null);
      await until('the Service alone exposes the address', () => exposure.by().join() === FORUM.name || null);
      await stage.client.delete(VIRTUAL_IP);
      await until('the VirtualIP is gone', async () => (await isGone(cast)) || null);
      await verify(cast, address);
      if (exposure.gaps.length > 0) throw new DemoFailure(`nobody exposed ${address} for a moment, ${exposure.gaps.length} times`);
      const moments = [asked, ...states.filter((one) => one.at >= asked.at)];
      screen.step(
        `Service forum has ${address}, ${span((moments.at(-1)?.at ?? 0) - asked.at)} after that, and somebody exposed it all the time`,
      );
      return { title: `${address}, VirtualIP -> Service ${FORUM.name}`, moments };
    } finally {
      exposure.close();
    }
  } finally {
    following.close();
  }
}

const stateOf = (virtualIP: KubeObject): string => String(at(virtualIP, 'status', 'state') ?? '');

async function validAddress({ stage }: Cast): Promise<string | null> {
  const { status } = await stage.client.get(VIRTUAL_IP);
  const address = at(status, 'ip');
  return at(status, 'state') === 'Valid' && typeof address === 'string' ? address : null;
}

const isGone = ({ stage }: Cast): Promise<boolean> =>
  stage.client.get(VIRTUAL_IP).then(
    () => false,
    () => true,
  );

/** Without the VirtualIP the Service has what that had. @throws DemoFailure */
async function verify({ stage }: Cast, address: string): Promise<void> {
  const [service, ip] = await Promise.all([
    stage.client.get(SERVICE),
    stage.client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: address }),
  ]);
  const [type, owner] = [at(service, 'spec', 'type'), ip.metadata.annotations?.[OWNER]];
  if (type !== 'LoadBalancer' || owner !== `${FORUM.namespace}/${FORUM.name}`)
    throw new DemoFailure(`Service ${FORUM.name} is of type ${String(type)}, and ${address} is ${owner ?? 'nobody'}'s`);
}

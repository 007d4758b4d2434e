import { describe, expect, test } from 'vitest';
import { vouchersOf } from '../../../adapters/admission/certificates.ts';
import { CONFIGURATION, SECRET } from '../../../adapters/admission/names.ts';
import { CERTIFICATE_TIMES } from '../../../adapters/admission/renewal.ts';
import { ServerUnreachable } from '../../../adapters/kubernetes/client/api-error.ts';
import type { Request } from '../../../adapters/kubernetes/client/connection.ts';
import { type VirtualClock, virtualClock } from '../../../adapters/memory/clock.ts';
import { nextLook, type Replica, ready, registered, replica, SECRETS, send, storedIn, trustedNow } from './keeper-support.ts';
import { CONFIGURATIONS, registrationAt } from './support.ts';

const { lifeMs, renewBeforeMs, overlapMs } = CERTIFICATE_TIMES;

const isTelling = ({ method, path }: Request): boolean => method === 'PUT' && path === `${CONFIGURATIONS}/${CONFIGURATION}`;
const isReadingCertificates = ({ method, path }: Request): boolean => method === 'GET' && path === `${SECRETS}/${SECRET}`;

const jump = (ms: number, ...clocks: readonly VirtualClock[]): void => {
  for (const clock of clocks) clock.jump(ms);
};

describe('the renewal of the webhook’s certificates by two replicas', () => {
  test('leaves no moment at which the API server does not trust what one of them serves, however slow the other one is', async () => {
    const server = await registered();
    const startAt = Date.now();
    // The next one is due as soon as the last one is served.
    const times = { ...CERTIFICATE_TIMES, renewBeforeMs: lifeMs - overlapMs };
    const replicas: Replica[] = [];
    const untrusted = new Set<number>();
    let moments = 0;
    const around = async (_: Request, answer: () => Promise<unknown>): Promise<unknown> => {
      const answered = await answer();
      moments += 1;
      const bundle = trustedNow(server);
      for (const { used } of replicas)
        if (used.length > 0 && vouchersOf(used.at(-1)?.cert ?? '', bundle) === '') untrusted.add(used.length);
      return answered;
    };
    const quick = virtualClock({ startAt });
    const slow = virtualClock({ startAt });
    replicas.push(replica(server, quick, { times, around }));
    await ready(quick, ...replicas);
    replicas.push(replica(server, slow, { times, around }));
    await ready(slow, ...replicas.slice(1));
    for (let renewed = 0; renewed < 4; renewed += 1) {
      jump(overlapMs, quick, slow);
      await nextLook(quick);
      await nextLook(slow);
    }
    expect(new Set(replicas[0]?.used.map(({ cert }) => cert)).size).toBe(4);
    expect(replicas[1]?.used).toEqual(replicas[0]?.used);
    expect(moments).toBeGreaterThan(40);
    expect([...untrusted]).toEqual([]);
    expect(trustedNow(server).match(/BEGIN/g)?.length).toBeLessThanOrEqual(3);
  });

  test('never has the API server trust again what it trusted before', async () => {
    const server = await registered();
    const startAt = Date.now();
    const [late, other] = [virtualClock({ startAt }), virtualClock({ startAt })];
    let overtake: (() => Promise<void>) | null = null;
    const told: string[] = [];
    const around = async (request: Request, answer: () => Promise<unknown>): Promise<unknown> => {
      const answered = await answer().finally(() => isTelling(request) && told.push(trustedNow(server)));
      const run = overtake;
      if (run !== null && isReadingCertificates(request)) {
        overtake = null;
        await run();
      }
      return answered;
    };
    const one = replica(server, late, { around });
    await ready(late, one);
    const two = replica(server, other, { around });
    await ready(other, two);
    // Whoever applies the manifest again takes the bundle out: both have to tell theirs.
    const path = `${CONFIGURATIONS}/${CONFIGURATION}`;
    await send(server, 'PUT', path, registrationAt('https://127.0.0.1:1'));
    jump(lifeMs - renewBeforeMs, late, other);
    told.length = 0;
    overtake = () => nextLook(other);
    await nextLook(late);
    expect(overtake).toBeNull();
    const next = await storedIn(server, 'next.crt');
    const trusting = told.map((bundle) => vouchersOf(next, bundle) !== '');
    expect(trusting).toContain(true);
    expect(trusting.slice(trusting.indexOf(true))).not.toContain(false);
    expect(vouchersOf(next, trustedNow(server))).not.toBe('');
    expect([one, two].map(({ keeper }) => keeper.hindrance())).toEqual([null, null]);
  });

  test('serves the next one only a look after the API server was told to trust it, however long ago it was made', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    let isAway = false;
    const one = replica(server, clock, {
      around: async (request, answer) => {
        if (isAway && isTelling(request)) throw new ServerUnreachable('put validatingwebhookconfigurations: away');
        return answer();
      },
    });
    await ready(clock, one);
    const [first] = one.used;
    isAway = true;
    clock.jump(lifeMs - renewBeforeMs);
    await nextLook(clock);
    const next = await storedIn(server, 'next.crt');
    expect(next).not.toBe('');
    clock.jump(overlapMs);
    await nextLook(clock);
    expect(vouchersOf(next, trustedNow(server))).toBe('');
    isAway = false;
    await nextLook(clock);
    expect(vouchersOf(next, trustedNow(server))).not.toBe('');
    expect(one.used).toEqual([first]);
    await nextLook(clock);
    expect(one.used.map(({ cert }) => cert)).toEqual([first?.cert, next]);
  });
});

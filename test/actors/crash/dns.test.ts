import { describe, expect, test } from 'vitest';
import { DNSWorld, MINUTE, ZONE } from '../dns/world.ts';

const [A, B, C, OTHER] = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'] as const;
const STALE = ['198.51.100.1', '198.51.100.2'];

/** A zone in which `web` lists two stale addresses, and a leader that ends at the place of that number, counted from the first; null for never. */
function stage(killAt: number | null) {
  const dns = new DNSWorld();
  for (const data of STALE) dns.world.provider.cloud.addRecord(ZONE, { type: 'A', name: 'web', data, ttlSeconds: 60, proxied: false });
  const killed: string[] = [];
  dns.kills = (point, about) => {
    if (dns.passed.length - 1 !== killAt) return false;
    killed.push(`${point} ${about}`);
    return true;
  };
  return { dns, killed };
}

/** Web moves to A and B and later to A and C, api comes with OTHER. Whenever the process ends, another one takes over, a moment later. Answers the fewest
 *  answers that were ever to be had for `web`. */
async function run(dns: DNSWorld): Promise<number> {
  let fewest = dns.records('web').length;
  const until = async (condition: () => boolean) => {
    const isOver = () => {
      fewest = Math.min(fewest, dns.records('web').length);
      return !dns.isLed || condition();
    };
    for (await dns.world.clock.runUntil(isOver, 10 * MINUTE); !dns.isLed; await dns.world.clock.runUntil(isOver, 10 * MINUTE)) {
      await dns.world.clock.advance(100);
      await dns.lead();
    }
  };
  const isActive = (name: string) => dns.status(name)?.state === 'active';
  await dns.lead();
  dns.set('web', [A, B]);
  dns.set('api', [OTHER]);
  await until(() => isActive('web') && isActive('api'));
  dns.set('web', [A, C]);
  await until(() => isActive('web') && dns.records('web').includes(C));
  return fewest;
}

describe('wherever a process ends, the next one', () => {
  test('brings the record sets about, each record once, and no name is without an answer on the way', async () => {
    const whole = stage(null);
    expect(await run(whole.dns)).toBe(2);
    const places = whole.dns.passed.length;
    expect(places).toBeGreaterThan(30);
    const met = new Set<string>();
    for (let place = 0; place < places; place += 1) {
      const staged = stage(place);
      const fewest = await run(staged.dns);
      const { dns, killed } = staged;
      expect([place, killed.length]).toEqual([place, 1]);
      met.add(killed[0]?.split(' ')[0] ?? '');
      expect([killed, fewest, dns.records('web'), dns.records('api')]).toEqual([killed, 2, [A, C], [OTHER]]);
      expect(dns.log).toEqual([]);
    }
    expect([...met].sort()).toEqual(['afterDispatch', 'afterReply', 'afterWrite', 'beforeReplyRead', 'beforeSend', 'beforeWrite']);
  });
});

describe('after a change of leader', () => {
  test('what stands is not written again, and is looked at once it was claimed', async () => {
    const { dns } = stage(null);
    await run(dns);
    dns.kill();
    const before = dns.calls().length;
    await dns.lead();
    await dns.world.clock.advance(20_000);
    expect([dns.calls(before), dns.status('web')?.state]).toEqual([[], 'active']);
    await dns.world.clock.advance(6 * MINUTE);
    expect(new Set(dns.calls(before))).toEqual(new Set(['listDNSRecords']));
  });

  test('nodes that changed meanwhile are followed', async () => {
    const { dns } = stage(null);
    await run(dns);
    dns.kill();
    dns.set('web', [B, OTHER]);
    await dns.lead();
    await dns.world.clock.runUntil(() => dns.records('web').includes(OTHER), 2000);
    expect(dns.records('web')).toEqual([B, OTHER]);
  });

  test('a set whose object went meanwhile gives its name to the next one', async () => {
    const { dns } = stage(null);
    await dns.lead();
    dns.set('older', [A], { recordName: 'web' });
    dns.set('newer', [B], { recordName: 'web' });
    await dns.world.clock.runUntil(() => dns.status('newer')?.state === 'error', 1000);
    dns.kill();
    dns.delete('older');
    await dns.lead();
    await dns.untilActive('newer');
    expect(dns.records('web')).toEqual([B]);
  });

  test('the older of two claimants keeps its name, whoever speaks first', async () => {
    const { dns } = stage(null);
    await dns.lead();
    dns.set('older', [A], { recordName: 'web' });
    dns.set('newer', [B], { recordName: 'web' });
    await dns.untilActive('older');
    expect(dns.status('newer')?.state).toBe('error');
    const before = dns.calls().length;
    dns.kill();
    await dns.lead();
    await dns.world.clock.advance(12 * MINUTE);
    expect([dns.records('web'), dns.status('older')?.state, dns.status('newer')?.state]).toEqual([[A], 'active', 'error']);
    expect(new Set(dns.calls(before))).toEqual(new Set(['listDNSRecords']));
  });

  test('a claim whose giving back was lost with the process ends all the same', async () => {
    const { dns } = stage(null);
    await dns.lead();
    dns.set('older', [A], { recordName: 'web' });
    dns.set('newer', [B], { recordName: 'web' });
    await dns.world.clock.runUntil(() => dns.status('newer')?.state === 'error', 1000);
    // The record of the deleted set is gone, and what it had to say has gone with it.
    dns.kills = (point, about) => point === 'afterWrite' && about === 'dns/default/older';
    dns.delete('older');
    await dns.world.clock.advance(1000);
    dns.kills = () => false;
    await dns.world.store.drop('dns/default/older', 1);
    await dns.lead();
    expect([dns.status('older'), Object.keys(dns.zoneOf()?.context.claims ?? {})]).toEqual([
      null,
      ['dns/default/older', 'dns/default/newer'],
    ]);
    await dns.untilActive('newer');
    expect(dns.records('web')).toEqual([B]);
  });
});

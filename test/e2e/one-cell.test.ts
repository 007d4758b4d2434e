import { describe, expect, test } from 'vitest';
import { staged } from './served.ts';

describe('a pool of which Redis keeps something of another type under its key', () => {
  const { served } = staged();

  test('fails over like any other: what the leader remembers is written in its place', async () => {
    const { stage, operator, ip } = await served(['a', 'b', 'c', 'd']);
    const { ip: other } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await stage.pool('other', { ips: [other] });
    await stage.until('both are active', async () => (await stage.activeOn('other', other)) !== null);
    const [key = ''] = (await stage.redis.command('KEYS', '*:cell:pool/default/ingress:records')) as string[];
    await stage.redis.command('SET', key, 'somebody else’s');
    const lost = { ingress: stage.heldBy(ip) ?? '', other: stage.heldBy(other) ?? '' };
    for (const node of Object.values(lost)) await stage.notReady(node);
    await stage.until('it fails over', async () => ![null, lost.ingress].includes(await stage.activeOn('ingress', ip)), 30_000);
    await stage.until('so does the other one', async () => ![null, lost.other].includes(await stage.activeOn('other', other)), 10_000);
    expect(await stage.redis.command('TYPE', key)).toBe('hash');
    expect([stage.assigns(ip).length, stage.assigns(other).length]).toEqual([2, 2]);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(operator.log.filter(({ msg }) => msg === 'leads').at(-1)).toMatchObject({ term: 2, begins: 'continue', records: 'memory' });
  });
});

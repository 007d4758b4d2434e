import { describe, expect, test } from 'vitest';
import { staged } from './served.ts';
import type { Stage } from './stage.ts';

/** The value of a series of the operator, by its name with its labels; null for none. */
const seriesOf = (text: string, name: string): number | null => {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
};

const degraded = async (stage: Stage, pool: string) =>
  (await stage.getPool(pool)).status?.conditions?.find(({ type }) => type === 'Degraded');

/** Something else has written under a key of one pool. */
async function spoil(stage: Stage, cell: string): Promise<() => Promise<void>> {
  const [key = ''] = (await stage.redis.command('KEYS', `*:cell:${cell}:records`)) as string[];
  await stage.redis.command('RENAME', key, `${key}-kept`);
  await stage.redis.command('SET', key, 'somebody else’s');
  return async () => {
    await stage.redis.command('RENAME', `${key}-kept`, key);
  };
}

describe('a pool of which Redis keeps something of another type under its key', () => {
  const { served } = staged();

  test('is tried at a slow pace and says so, under the same term, while another one fails over; once mended it does, too', async () => {
    const { stage, operator, ip } = await served(['a', 'b', 'c', 'd']);
    const { ip: other } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await stage.pool('other', { ips: [other] });
    await stage.until('both are active', async () => (await stage.activeOn('other', other)) !== null);
    const figure = async (name: string) => seriesOf((await operator.metrics()).text, name);
    const term = await figure('routedip_term');
    const mend = await spoil(stage, 'pool/default/ingress');
    const [lost, alsoLost] = [stage.heldBy(ip) ?? '', stage.heldBy(other) ?? ''];
    await stage.notReady(lost);
    await stage.notReady(alsoLost);
    await stage.until('the other one fails over', async () => ![null, alsoLost].includes(await stage.activeOn('other', other)), 10_000);
    await stage.until('it says so', async () => (await degraded(stage, 'ingress'))?.reason === 'TurnFailed', 30_000);
    expect((await degraded(stage, 'ingress'))?.message).toMatch(/^what is decided cannot be saved.*WRONGTYPE/);
    expect(await figure('routedip_cells_failing{reason="save"}')).toBe(1);
    expect((await degraded(stage, 'other'))?.status).toBe('False');
    expect(stage.heldBy(ip)).toBe(lost);
    expect(operator.log.filter(({ msg }) => msg === 'a turn failed')).toHaveLength(1);

    await mend();
    await stage.until('it fails over, too', async () => ![null, lost].includes(await stage.activeOn('ingress', ip)), 45_000);
    await stage.until('it says so no more', async () => (await degraded(stage, 'ingress'))?.status === 'False', 10_000);
    expect([await figure('routedip_cells_failing{reason="save"}'), await figure('routedip_term')]).toEqual([0, term]);
  });
});

import { describe, expect, test } from 'vitest';
import { staged } from '../e2e/served.ts';

const COUNT = 120;
/** A minute's worth of it lets every address move once, with a fifth more for all that has to be read. */
const LIMIT = { perMinute: 1.25 * COUNT, perHour: 5_000 };

/** Many failures at once, within what the provider allows a token. */
describe('a pool of 120 addresses', () => {
  const { stage: current } = staged({ cloud: { rateLimit: LIMIT, reservedIPQuota: 1_000, actionMs: { min: 1_000, max: 3_000 } } });

  test('that lose their nodes at once gets them to others by one assign each, and their confirmations share lists', async () => {
    const stage = current();
    const names = (kind: string) => Array.from({ length: COUNT }, (_, index) => `${kind}-${index}`);
    const [holders, spares] = [names('holder'), names('spare')];
    await stage.nodes(...holders, ...spares);
    const held = [...stage.cloud.state.droplets.values()].filter(({ name }) => holders.includes(name));
    const ips = held.map(({ id }) => stage.cloud.addReservedIP({ region: 'nyc3', dropletId: id }).ip);
    expect(ips).toHaveLength(COUNT);
    await stage.pool('ingress', { ips });
    const operator = await stage.start({
      flags: [
        `--rate-limit-per-minute=${LIMIT.perMinute}`,
        `--rate-limit-per-hour=${LIMIT.perHour}`,
        '--verify-interval=10m',
        // Nothing is in doubt here, and a busy machine is not to make it so.
        '--call-deadline=10s',
      ],
    });
    const onSpares = async () =>
      Object.values((await stage.getPool('ingress')).status?.ips ?? {}).filter(
        ({ state, nodeName }) => state === 'active' && nodeName?.startsWith('spare'),
      ).length;
    await stage.until('all are active', async () => (await stage.getPool('ingress')).status?.activeIPs === COUNT);
    expect(stage.assigns()).toEqual([]);
    const since = stage.cloud.calls.all().at(-1)?.n ?? 0;

    await Promise.all(holders.map((name) => stage.notReady(name)));
    await stage.until('all are active elsewhere', async () => (await onSpares()) === COUNT, 100_000);
    const calls = stage.cloud.calls.select({ since });
    expect(new Set(stage.assigns().map(({ address }) => address)).size).toBe(COUNT);
    expect(stage.assigns()).toHaveLength(COUNT);
    expect(calls.filter(({ status }) => status === 429)).toEqual([]);
    // A real API server takes so long over all the nodes that what fails together does not move together: lists are shared less.
    if (stage.target.kind === 'simulator') expect(calls.length).toBeLessThanOrEqual(1.2 * COUNT);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

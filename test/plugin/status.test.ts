import { describe, expect, test } from 'vitest';
import { EXIT } from '../../plugin/ports.ts';
import { status } from '../../plugin/status.ts';
import { at, condition, GROUPS, IPS, POOLS, pool, RECORD_SETS, ROUTED_IPS, routedIP, SERVICES, world } from './support.ts';

const active = (nodeName: string) => ({ state: 'active', nodeName, machineState: 'Stable' });
const shown = async (answers: Readonly<Record<string, unknown>>, more: Parameters<typeof world>[1] = {}, address?: string) => {
  const made = world(answers, more);
  const code = await status(made.session, address === undefined ? {} : { address });
  return { code, text: made.out(), problems: made.problems };
};

/** Clears the screen, paints, goes back, reads from the right, and begins a line of its own. */
const EVIL = '\u001b[2J\u009b31m\rx\u202ey\ndefault   routedip/fine';
const SEEN = '\\u001b[2J\\u009b31m\\rx\\u202ey\\ndefault   routedip/fine';

describe('what strangers write into a cluster', () => {
  const answers = {
    [POOLS]: [
      pool(EVIL, {
        ips: { '203.0.113.9': { ...active(EVIL), state: 'error' } },
        conditions: [condition('Ready', 'False', EVIL, EVIL), condition('Degraded', 'True', EVIL, EVIL)],
      }),
    ],
    [ROUTED_IPS]: EVIL,
  };

  test('is shown escaped, on one line, wherever it stands: in names, nodes, reasons, messages and refusals', async () => {
    const { text, problems } = await shown(answers);
    expect(text).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
    const lines = text.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toContain(`floatingippool/${SEEN}`);
    expect(lines[3]).toContain(`: ${SEEN}: ${SEEN}`);
    expect(lines[0]?.indexOf('ADDRESS')).toBe(lines[1]?.indexOf('203.0.113.9'));
    expect(problems.join('\n')).toContain(SEEN);
    expect(problems.join('')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  test('is in JSON as it was written, and escaped', async () => {
    const { text } = await shown(answers, { output: 'json' });
    expect(text).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
    expect(JSON.parse(text).rows).toMatchObject([{ name: EVIL, where: EVIL, message: EVIL }]);
  });
});

describe('kubectl routedip status', () => {
  test('shows all kinds in one table, and ends with 0 while nothing needs a look', async () => {
    const found = await shown({
      [POOLS]: [
        pool('ingress', { lastAssignmentTime: at(-7200), ips: { '203.0.113.10': active('node-b'), '203.0.113.9': active('node-a') } }),
      ],
      [ROUTED_IPS]: [routedIP('shop', { routedIP: '203.0.113.20', assignedNode: 'node-c', state: 'Stable', lastAssignmentTime: at(-90) })],
      [RECORD_SETS]: [
        {
          metadata: { name: 'work', namespace: 'default', generation: 1 },
          spec: { dnsRecordSet: { zone: 'example.com', recordName: 'work' } },
          status: {
            observedGeneration: 1,
            state: 'active',
            records: 2,
            conditions: [condition('Ready', 'True', 'Published', '', -3 * 86_400)],
          },
        },
      ],
      [GROUPS]: [{ metadata: { name: 'g' } }],
      [IPS]: [
        {
          metadata: {
            name: '192.0.2.1',
            creationTimestamp: at(-600),
            annotations: { 'virtualips.paas.il/owner': 'web/www' },
            labels: { ipgroup: 'g' },
          },
        },
      ],
      [SERVICES]: [
        {
          metadata: { name: 'www', namespace: 'web' },
          spec: { type: 'LoadBalancer' },
          status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
        },
      ],
    });
    expect(found.problems).toEqual([]);
    expect(`\n${found.text}\n`).toBe(`
NAMESPACE   OBJECT                   ADDRESS            WHERE         STATE       SINCE   WHY         NEXT
default     floatingippool/ingress   203.0.113.9        node-a        active      2h+     Assigned    -
default     floatingippool/ingress   203.0.113.10       node-b        active      2h+     Assigned    -
web         routedip/shop            203.0.113.20       node-c        Stable      90s     Assigned    -
web         ip/192.0.2.1             192.0.2.1          service/www   published   10m     of g        -
default     nodednsrecordset/work    work.example.com   2 addresses   active      3d      Published   -
`);
    expect(found.code).toBe(EXIT.ok);
  });

  test('says what is wrong below the table, when it is tried again, and ends with 3', async () => {
    const found = await shown({
      [POOLS]: [
        pool('ingress', {
          ips: {
            '203.0.113.9': {
              state: 'error',
              machineState: 'CoolOff',
              error: 'assign 203.0.113.9: 422 region',
              coolOffUntil: at(25),
              inDoubt: true,
            },
          },
          conditions: [
            condition('Ready', 'False', 'AssignFailed', '0 of 1', -30),
            condition('Progressing', 'False', 'Idle', ''),
            condition('Degraded', 'True', 'AssignFailed', 'assign 203.0.113.9: 422 region'),
          ],
        }),
      ],
    });
    expect(`\n${found.text}\n`).toBe(`
NAMESPACE   OBJECT                   ADDRESS       WHERE   STATE   SINCE   WHY            NEXT
default     floatingippool/ingress   203.0.113.9   -       error   30s     AssignFailed   retry in 25s

floatingippool/ingress in default: AssignFailed: assign 203.0.113.9: 422 region; whether the last assignment took effect is not known yet
`);
    expect(found.code).toBe(EXIT.attention);
  });

  test.each([
    [
      'a node that has time to come back',
      { ...active('a'), notReadySince: at(-20), graceUntil: at(40) },
      ['20s', 'Recovering', 'moves in 40s'],
      EXIT.ok,
    ],
    ['a node that is held', { ...active('a'), notReadySince: at(-20), held: true }, ['20s', 'SafeHold', 'stays, held'], EXIT.attention],
    [
      'an address left to somebody else',
      { state: 'unassigned', contendedUntil: at(100) },
      ['60s', 'Contended', 'goes on in 100s'],
      EXIT.attention,
    ],
    [
      'an error that waits for a person',
      { state: 'error', machineState: 'CoolOff' },
      ['60s', 'AddressNotFound', 'waits for a change'],
      EXIT.attention,
    ],
    ['a time that is over', { state: 'error', coolOffUntil: at(-1) }, ['60s', 'AddressNotFound', 'retry now'], EXIT.attention],
    ['one that is not wanted', { state: 'disabled' }, ['60s', '-', '-'], EXIT.ok],
  ])('tells of %s', async (_, ip, wanted, code) => {
    const found = await shown({
      [POOLS]: [
        pool('p', {
          ips: { '203.0.113.9': ip },
          conditions: [
            condition('Ready', ip.state === 'active' ? 'True' : 'False', 'AddressNotFound', ''),
            condition('Degraded', 'graceUntil' in ip ? 'False' : 'True', 'AddressNotFound', 'why'),
          ],
        }),
      ],
    });
    const [, row = ''] = found.text.split('\n');
    expect(row.split(/ {3,}/).slice(-3)).toEqual(wanted);
    expect(found.code).toBe(code);
  });

  test('a pool whose last change nobody has looked at, or that has no address yet, needs a look', async () => {
    const found = await shown({
      [POOLS]: [
        pool('changed', { ips: { '203.0.113.9': active('a') } }, { metadata: { generation: 2 } }),
        pool(
          'empty',
          { conditions: [condition('Ready', 'False', 'Creating', 'an address is being created')] },
          { spec: { desiredIPs: 1 } },
        ),
        pool('new', { observedGeneration: undefined, conditions: [] }, { spec: { ips: ['203.0.113.8'] } }),
        pool('paused', { ips: { '203.0.113.7': active('b') } }, { metadata: { annotations: { 'routedip.io/paused': 'true' } } }),
      ],
    });
    expect(found.text).toContain('floatingippool/changed in default, 203.0.113.9: Assigned: no operator has looked at its last change yet');
    expect(found.text).toContain('floatingippool/empty in default: Creating: an address is being created');
    expect(found.text).toContain('floatingippool/new in default, 203.0.113.8: no operator has looked at it yet');
    expect(found.text).toMatch(/floatingippool\/paused .* nothing, paused$/m);
    expect(found.code).toBe(EXIT.attention);
  });

  test('an object that is looked at and not served says why', async () => {
    const why = 'the addresses of digitalocean could not be read yet: 401';
    const unserved = { ...condition('Ready', 'Unknown', 'ProviderUnread', why, -20), observedGeneration: 1 };
    const degraded = condition('Degraded', 'True', 'InvalidSpec', 'no credentials');
    const never = { observedGeneration: undefined, conditions: [unserved] };
    const before = { conditions: [unserved, degraded], error: 'no credentials' };
    const recordSet = (name: string, said: object) => ({
      metadata: { name, namespace: 'default', generation: 1 },
      spec: { dnsRecordSet: { zone: 'example.com', recordName: name } },
      status: { observedGeneration: 1, ...said },
    });
    const found = await shown({
      [POOLS]: [
        pool('before', { ...before, ips: { '203.0.113.7': { state: 'error', error: 'no credentials' } } }),
        pool('edited', never, { metadata: { generation: 2 } }),
        pool('never', never, { spec: { ips: ['203.0.113.8'] } }),
      ],
      [ROUTED_IPS]: [routedIP('before', { ...before, state: 'Unassigned' }), routedIP('never', never)],
      [RECORD_SETS]: [recordSet('before', { ...before, state: 'error' }), recordSet('never', never)],
    });
    expect(`\n${found.text.split('\n\n')[0]}\n`).toBe(`
NAMESPACE   OBJECT                    ADDRESS              WHERE   STATE        SINCE   WHY              NEXT
default     floatingippool/before     203.0.113.7          -       error        -       ProviderUnread   -
default     floatingippool/edited     -                    -       unseen       20s     -                -
default     floatingippool/never      203.0.113.8          -       unserved     20s     ProviderUnread   -
web         routedip/before           -                    -       Unassigned   20s     ProviderUnread   -
web         routedip/never            -                    -       unserved     20s     ProviderUnread   -
default     nodednsrecordset/before   before.example.com   -       error        20s     ProviderUnread   -
default     nodednsrecordset/never    never.example.com    -       unserved     20s     ProviderUnread   -
`);
    expect(found.text).toContain('floatingippool/edited in default: no operator has looked at its last change yet');
    const said = found.text.split('\n').filter((line) => line.endsWith(`: ProviderUnread: ${why}`));
    expect(said).toHaveLength(6);
    expect(found.code).toBe(EXIT.attention);
  });

  test('what is wrong is told although all addresses serve, of the one that it is about or else once for all, and ends with 3', async () => {
    const but = (reason: string, message: string) => ({
      conditions: [condition('Ready', 'True', 'AllActive', ''), condition('Degraded', 'True', reason, message)],
    });
    const ips = { '203.0.113.1': active('a'), '203.0.113.10': active('b') };
    const refused = '203.0.113.10 is to leave b, but c did not take it: in use';
    const found = await shown({
      [POOLS]: [pool('drained', { ips, ...but('NodeInUse', refused) }), pool('named', { ips, ...but('RecordConflict', 'x has it') })],
      [ROUTED_IPS]: [
        routedIP('shop', { state: 'Stable', routedIP: '203.0.113.20', assignedNode: 'c', ...but('PortNotAllowed', 'tcp/22 stays shut') }),
      ],
      [RECORD_SETS]: [
        {
          metadata: { name: 'work', namespace: 'default', generation: 1 },
          spec: { dnsRecordSet: { zone: 'example.com', recordName: 'work' } },
          status: { observedGeneration: 1, state: 'active', records: 2, ...but('NodesWithoutAddress', 'a has none') },
        },
      ],
    });
    expect(`\n${found.text}\n`).toBe(`
NAMESPACE   OBJECT                   ADDRESS            WHERE         STATE    SINCE   WHY                   NEXT
default     floatingippool/drained   203.0.113.1        a             active   -       Assigned              -
default     floatingippool/drained   203.0.113.10       b             active   -       NodeInUse             -
default     floatingippool/named     203.0.113.1        a             active   -       RecordConflict        -
default     floatingippool/named     203.0.113.10       b             active   -       RecordConflict        -
web         routedip/shop            203.0.113.20       c             Stable   60s     PortNotAllowed        -
default     nodednsrecordset/work    work.example.com   2 addresses   active   60s     NodesWithoutAddress   -

floatingippool/drained in default: NodeInUse: 203.0.113.10 is to leave b, but c did not take it: in use
floatingippool/named in default: RecordConflict: x has it
routedip/shop in web, 203.0.113.20: PortNotAllowed: tcp/22 stays shut
nodednsrecordset/work in default, work.example.com: NodesWithoutAddress: a has none
`);
    expect(found.code).toBe(EXIT.attention);
  });

  test('a RoutedIP whose node has time to come back says so', async () => {
    const waits = { notReadySince: at(-20), graceUntil: at(40), lastAssignmentTime: at(-600) };
    const found = await shown({
      [ROUTED_IPS]: [routedIP('shop', { state: 'Stable', routedIP: '203.0.113.20', assignedNode: 'c', ...waits })],
    });
    expect(found.text).toMatch(/Stable +20s +Recovering +moves in 40s$/m);
    expect(found.code).toBe(EXIT.ok);
  });

  test('a RoutedIP says all that keeps it from its node, and when its firewall is shut although it is there', async () => {
    const found = await shown({
      [ROUTED_IPS]: [
        routedIP('away', {
          state: 'CoolOff',
          routedIP: '203.0.113.1',
          error: 'assign 203.0.113.1: 503',
          coolOffUntil: at(5),
          conditions: [condition('Ready', 'False', 'AssignFailed', 'assign 203.0.113.1: 503', -7)],
        }),
        routedIP('elsewhere', {
          state: 'Unassigned',
          routedIP: '203.0.113.3',
          error: '203.0.113.3 is on another machine',
          conditions: [condition('Ready', 'False', 'PortNotAllowed', 'TCP 22 is not opened')],
        }),
        routedIP('shut', {
          state: 'Stable',
          routedIP: '203.0.113.2',
          assignedNode: 'a',
          conditions: [
            condition('Ready', 'True', 'Assigned', ''),
            condition('FirewallReady', 'False', 'FirewallClosed', 'somebody closed tcp/80'),
          ],
        }),
      ],
    });
    expect(found.text).toMatch(/routedip\/away +203\.0\.113\.1 +- +CoolOff +7s +AssignFailed +retry in 5s/);
    expect(found.text).toContain('routedip/away in web: AssignFailed: assign 203.0.113.1: 503');
    expect(found.text).toContain('routedip/elsewhere in web: PortNotAllowed: TCP 22 is not opened; 203.0.113.3 is on another machine');
    expect(found.text).toContain('routedip/shut in web, 203.0.113.2: Assigned: somebody closed tcp/80');
  });

  test('a Service without an address is shown where there are IPGroups, and one of another class is not', async () => {
    const service = (name: string, spec: object) => ({ metadata: { name, namespace: 'web' }, spec: { type: 'LoadBalancer', ...spec } });
    const services = [service('poor', {}), service('other', { loadBalancerClass: 'x' }), service('inner', { type: 'ClusterIP' })];
    const found = await shown({ [GROUPS]: [{ metadata: { name: 'g' } }], [SERVICES]: services });
    expect(found.text.split('\n').filter((line) => line.includes('service/'))).toHaveLength(2);
    expect(found.text).toContain('kubectl describe service -n web poor');
    expect((await shown({ [SERVICES]: services })).text).toBe('nothing has or wants an address in the cluster');
  });

  test('a Service that is left to somebody else says so, whether an address is reserved for it or not', async () => {
    const conditions = [{ ...condition('routedip.io/Contended', 'True', 'Contended', 'left to cloud'), lastTransitionTime: at(-5) }];
    const service = (name: string) => ({
      metadata: { name, namespace: 'web' },
      spec: { type: 'LoadBalancer' },
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.80' }] }, conditions },
    });
    const ip = { metadata: { name: '192.0.2.1', labels: { ipgroup: 'g' }, annotations: { 'virtualips.paas.il/owner': 'web/had' } } };
    const found = await shown({ [GROUPS]: [{ metadata: { name: 'g' } }], [IPS]: [ip], [SERVICES]: [service('never'), service('had')] });
    expect(found.text).toMatch(/service\/never +- +- +contended +5s +Contended/);
    expect(found.text).toContain('service/never in web: Contended: left to cloud');
    expect(found.text).toMatch(/ip\/192\.0\.2\.1 .*reserved/);
    expect(found.text).toContain('left to cloud');
    expect([found.text.includes('service/had in'), found.code]).toEqual([false, EXIT.attention]);
  });

  test('one address alone', async () => {
    const answers = { [POOLS]: [pool('p', { ips: { '203.0.113.9': active('a'), '203.0.113.8': active('b') } })] };
    const found = await shown(answers, {}, '203.0.113.8');
    expect([found.text.split('\n').length, found.code]).toEqual([2, EXIT.ok]);
    expect(await shown(answers, {}, '203.0.113.77')).toEqual({
      code: EXIT.failed,
      text: 'nothing has 203.0.113.77 in the cluster',
      problems: [],
    });
  });

  test('what may not be read is said, the rest is shown, and the exit code is 1', async () => {
    const found = await shown({
      [POOLS]: [pool('p', { ips: { '203.0.113.9': active('a') } })],
      [ROUTED_IPS]: 'you may not list routedips: …',
    });
    expect(found.text).toContain('203.0.113.9');
    expect([found.problems, found.code]).toEqual([['you may not list routedips: …'], EXIT.failed]);
  });

  test('whoever may read nothing is told that, and not that there is nothing', async () => {
    const refused = Object.fromEntries([POOLS, ROUTED_IPS, RECORD_SETS, IPS, GROUPS].map((path) => [path, `you may not list ${path}`]));
    const nothing = { code: EXIT.failed, text: '', problems: Object.values(refused) };
    expect(await shown(refused)).toEqual(nothing);
    expect(await shown(refused, {}, '203.0.113.9')).toEqual(nothing);
  });

  test('-o json has the same rows, with times in full', async () => {
    const { session, out } = world(
      { [POOLS]: [pool('p', { lastAssignmentTime: at(-60), ips: { '203.0.113.9': active('a') } })] },
      { output: 'json' },
    );
    expect(await status(session)).toBe(EXIT.ok);
    expect(JSON.parse(out())).toEqual({
      problems: [],
      rows: [
        {
          kind: 'floatingippool',
          namespace: 'default',
          name: 'p',
          address: '203.0.113.9',
          where: 'a',
          state: 'active',
          since: { at: at(-60), exact: true },
          reason: 'Assigned',
          message: '',
          next: null,
          attention: false,
        },
      ],
    });
  });
});

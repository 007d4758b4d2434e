import { describe, expect, test } from 'vitest';
import { accountOf, type CheckedPolicy, checkPolicy, type Policy } from '../../../machines/spec/class.ts';

const OPERATOR = 'operator';
const TEMPLATE = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c' }] } } };

const checkClass = (change: object = {}): CheckedPolicy =>
  checkPolicy(
    { kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', spec: { className: 'digitalocean.com/floating-ip', ...change } },
    OPERATOR,
  );
const checkIssuer = (change: object = {}): CheckedPolicy =>
  checkPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'mine', spec: { issuerClass: 'digitalocean', ...change } }, OPERATOR);
const accepted = (checked: CheckedPolicy): Policy => checked.policy ?? expect.fail(checked.error ?? '');

describe('a class that says nothing but its name', () => {
  test('has every default', () => {
    expect(accepted(checkClass())).toEqual({
      adoption: 'Unassigned',
      provider: 'digitalocean',
      cloud: 'digitalocean',
      secrets: [],
      addressJobs: false,
      firewallJobs: false,
      jobNamespace: OPERATOR,
      region: '',
      firewall: '',
      postAllow: false,
      exclusive: false,
      sources: null,
      nodePortRange: { first: 30000, last: 32767 },
      perNode: 1,
      reclaim: 'Retain',
      coolOffMs: 0,
      graceMs: 0,
      contention: null,
      tolerations: [],
      taint: 'PreferNoSchedule',
      allowCrossNamespace: false,
      ipGroup: '',
    });
  });

  test('is the same as one in which a server has written all defaults', () => {
    const written = {
      firewallPostAllow: false,
      nodePortRange: '30000-32767',
      perNodeIPLimit: 1,
      fromSecretsRef: [],
      routedIPReclaimPolicy: 'Retain',
      assignmentCoolOffSeconds: 0,
      recoveryGraceSeconds: 0,
      electionPolicy: 'Youngest',
      tolerations: [],
      taintEffect: 'PreferNoSchedule',
      firewallSources: ['0.0.0.0/0', '::/0'],
      firewallExclusive: false,
      allowCrossNamespace: false,
    };
    expect(checkClass(written)).toEqual(checkClass());
  });

  test('has the defaults of an issuer', () => expect(accepted(checkIssuer())).toEqual(accepted(checkClass())));
});

describe('a field of a class', () => {
  test.each<[object, Partial<Policy>]>([
    [{ region: 'fra1' }, { region: 'fra1' }],
    [{ routedIPFirewallName: 'edge' }, { firewall: 'edge' }],
    [{ firewallPostAllow: true }, { postAllow: true }],
    [{ firewallExclusive: true }, { exclusive: true }],
    [{ firewallSources: ['10.0.0.0/8', '::/0', '10.0.0.0/8'] }, { sources: ['10.0.0.0/8', '::/0'] }],
    [{ firewallSources: ['::/0', '0.0.0.0/0'] }, { sources: null }],
    [{ nodePortRange: '20000+22767' }, { nodePortRange: { first: 20000, last: 42767 } }],
    [{ perNodeIPLimit: 3 }, { perNode: 3 }],
    [{ routedIPReclaimPolicy: 'Delete' }, { reclaim: 'Delete' }],
    [{ assignmentCoolOffSeconds: 1.5 }, { coolOffMs: 1500 }],
    [{ recoveryGraceSeconds: 30 }, { graceMs: 30_000 }],
    [{ taintEffect: 'NoSchedule' }, { taint: 'NoSchedule' }],
    [{ taintEffect: 'None' }, { taint: null }],
    [{ allowCrossNamespace: true }, { allowCrossNamespace: true }],
    [{ tolerations: [{ key: 'k', effect: 'NoSchedule' }] }, { tolerations: [{ key: 'k', operator: '', value: '', effect: 'NoSchedule' }] }],
    [{ jobNamespace: 'jobs' }, { jobNamespace: 'jobs' }],
    [{ fromSecretsRef: [{ name: 'do' }] }, { secrets: [{ namespace: OPERATOR, name: 'do', optional: false }] }],
  ])('%o is acted upon', (change, expected) => expect(accepted(checkClass(change))).toMatchObject(expected));

  test.each<[object, string]>([
    [{ className: '' }, 'className must be set'],
    [{ perNodeIPLimit: 0 }, 'perNodeIPLimit must be'],
    [{ perNodeIPLimit: -1 }, 'perNodeIPLimit must be'],
    [{ perNodeIPLimit: 1.5 }, 'perNodeIPLimit must be'],
    [{ nodePortRange: '40000-30000' }, 'nodePortRange must be'],
    [{ nodePortRange: 'a-b' }, 'nodePortRange must be'],
    [{ nodePortRange: '0-10' }, 'nodePortRange must be'],
    [{ nodePortRange: '65000+1000' }, 'nodePortRange must be'],
    [{ routedIPReclaimPolicy: 'Recycle' }, 'routedIPReclaimPolicy must be'],
    [{ taintEffect: 'NoExecute' }, 'taintEffect must be'],
    [{ electionPolicy: 'Oldest' }, 'electionPolicy must be'],
    [{ firewallSources: ['10.0.0.0/33'] }, 'firewallSources'],
    [{ firewallSources: ['somewhere'] }, 'firewallSources'],
    [{ recoveryGraceSeconds: 31_536_001 }, 'at most 31536000'],
    [{ assignmentCoolOffSeconds: -1 }, 'assignmentCoolOffSeconds'],
    [{ fromSecretsRef: [{}] }, 'fromSecretsRef.name must be set'],
  ])('%o is refused', (change, text) =>
    expect(checkClass(change)).toMatchObject({ reason: 'InvalidSpec', error: expect.stringContaining(text) }),
  );

  test('that names an IPGroup needs Jobs: a cloud assigns no address but its own, and one that it made would cost money', () => {
    expect(checkClass({ ipGroup: 'edge', updateRoutedIP: TEMPLATE }).policy?.ipGroup).toBe('edge');
    expect(checkClass({ ipGroup: 'edge' })).toMatchObject({
      reason: 'UnsupportedIssuer',
      error: 'ipGroup needs updateRoutedIP: only Jobs can assign an address of an IPGroup ("edge")',
    });
    expect(checkClass({ ipGroup: 'edge', updateFirewall: TEMPLATE })).toMatchObject({ reason: 'UnsupportedIssuer' });
    expect(checkIssuer({ ipGroup: 'edge' })).toMatchObject({
      reason: 'UnsupportedIssuer',
      error: expect.stringContaining('ipGroup must be empty'),
    });
    expect(checkClass({ ipGroup: '' }).policy?.ipGroup).toBe('');
  });
});

describe('a template', () => {
  const pod = (change: object) => ({ template: { spec: { ...TEMPLATE.template.spec, ...change } } });

  test.each(['updateRoutedIP', 'updateFirewall'])('in %s has Jobs do that half', (field) => {
    const { addressJobs, firewallJobs } = accepted(checkClass({ [field]: TEMPLATE }));
    expect([addressJobs, firewallJobs]).toEqual([field === 'updateRoutedIP', field === 'updateFirewall']);
  });

  test.each<[object, string]>([
    [{ ...TEMPLATE, parallelism: 2 }, 'completions and parallelism'],
    [{ ...TEMPLATE, completions: 2 }, 'completions and parallelism'],
    [{ ...TEMPLATE, suspend: true }, 'suspend'],
    [{ ...TEMPLATE, selector: {} }, 'selector'],
    [{ ...TEMPLATE, manualSelector: true }, 'selector'],
    [pod({ containers: [] }), 'at least one container'],
    [pod({ restartPolicy: 'Always' }), 'restartPolicy must be'],
    [pod({ restartPolicy: undefined }), 'restartPolicy must be'],
    [{}, 'at least one container'],
  ])('%o is refused', (updateRoutedIP, text) =>
    expect(checkClass({ updateRoutedIP })).toMatchObject({ error: expect.stringContaining(text) }),
  );

  test('for addresses alone is not enough where a firewall is named and nobody knows the platform', () => {
    const mine = { className: 'example.org/mine', updateRoutedIP: TEMPLATE };
    expect(accepted(checkClass(mine)).cloud).toBeNull();
    expect(checkClass({ ...mine, routedIPFirewallName: 'edge' })).toMatchObject({ reason: 'UnsupportedIssuer' });
    expect(accepted(checkClass({ ...mine, routedIPFirewallName: 'edge', updateFirewall: TEMPLATE })).firewallJobs).toBe(true);
  });

  test('of an issuer counts for nothing', () => expect(accepted(checkIssuer({ updateRoutedIP: TEMPLATE })).addressJobs).toBe(false));

  test('needs its Secrets where its Jobs run', () => {
    const elsewhere = { updateRoutedIP: TEMPLATE, jobNamespace: 'jobs', fromSecretsRef: [{ name: 'token' }] };
    expect(checkClass(elsewhere)).toMatchObject({ reason: 'InvalidSpec', error: expect.stringContaining('must be in jobs') });
    expect(accepted(checkClass({ ...elsewhere, fromSecretsRef: [{ name: 'token', namespace: 'jobs' }] })).secrets).toHaveLength(1);
  });
});

describe('an issuer', () => {
  test.each(['aws', 'gce'])('of %s is not implemented', (issuerClass) =>
    expect(checkIssuer({ issuerClass })).toMatchObject({ reason: 'UnsupportedIssuer', error: expect.stringContaining(issuerClass) }),
  );

  describe('with the credentials of the operator', () => {
    const shares = (change: object) =>
      checkPolicy(
        { kind: 'RoutedIPIssuer', namespace: 'web', name: 'mine', spec: { issuerClass: 'digitalocean', ...change }, sharesFirewall: true },
        OPERATOR,
      );

    test('takes no rule of others out of a firewall', () => {
      for (const checked of [checkIssuer({ firewallExclusive: true }), shares({ firewallExclusive: true, routedIPFirewallName: 'edge' })])
        expect(checked).toMatchObject({ reason: 'InvalidSpec', error: expect.stringContaining('firewallExclusive is not for issuers') });
    });

    test('opens ports in firewalls that a class names, and in no others', () => {
      expect(accepted(shares({ routedIPFirewallName: 'edge' })).firewall).toBe('edge');
      expect(checkIssuer({ routedIPFirewallName: 'edge' })).toMatchObject({ error: expect.stringContaining('none names "edge"') });
    });

    test('is not what an issuer has that names a Secret, nor a class', () => {
      const change = { firewallExclusive: true, routedIPFirewallName: 'edge' };
      expect(accepted(checkIssuer({ ...change, fromSecretsRef: [{ name: 'do' }] })).exclusive).toBe(true);
      const spec = { className: 'digitalocean.com/floating-ip', ...change };
      expect(accepted(checkPolicy({ kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', spec }, OPERATOR)).exclusive).toBe(true);
    });
  });

  test('reads Secrets of its own namespace, and of no other', () => {
    expect(accepted(checkIssuer({ fromSecretsRef: [{ name: 'do' }] })).secrets).toEqual([
      { namespace: 'web', name: 'do', optional: false },
    ]);
    expect(checkIssuer({ fromSecretsRef: [{ name: 'do', namespace: OPERATOR }] })).toMatchObject({
      reason: 'InvalidSpec',
      error: expect.stringContaining('of its own namespace web only'),
    });
  });
});

describe('whose means a class works with', () => {
  test('is known although the rest of it is wrong', () => {
    const spec = { className: 'digitalocean.com/floating-ip', perNodeIPLimit: 0, fromSecretsRef: [{ name: 'do' }] };
    const object = { kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', spec };
    expect(checkPolicy(object, OPERATOR).policy).toBeNull();
    expect(accountOf(object, OPERATOR)).toMatchObject({ cloud: 'digitalocean', secrets: [{ namespace: OPERATOR, name: 'do' }] });
  });
});
